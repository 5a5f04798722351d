use db_kit::Db;
use diesel::prelude::*;

use super::model::ClientRow;
use crate::schema::oauth_clients;

pub(crate) fn find(db: &mut Db, id: &str) -> QueryResult<Option<ClientRow>> {
    oauth_clients::table.find(id).first(db).optional()
}
