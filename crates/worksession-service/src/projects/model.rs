use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::ProjectId;
use crate::columns::SqlOf;
use crate::schema::projects;

/// A personal project as stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = projects)]
pub(crate) struct ProjectRow {
    pub(crate) id: ProjectId,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) archived_at: Option<NaiveDateTime>,
    pub(crate) created_at: NaiveDateTime,
}

pub(crate) type ProjectSql = SqlOf<ProjectRow>;

/// A personal project to insert.
#[derive(Debug, Insertable)]
#[diesel(table_name = projects)]
pub(crate) struct NewProject {
    pub(crate) user_id: i64,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
    pub(crate) seq: i64,
}

/// The changes of a PUT. Absent fields stay as they are.
#[derive(Debug, AsChangeset)]
#[diesel(table_name = projects)]
pub(crate) struct ProjectChanges {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) updated_at: NaiveDateTime,
    pub(crate) seq: i64,
}
