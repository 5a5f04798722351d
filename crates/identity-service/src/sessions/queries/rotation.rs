use std::collections::HashMap;

use chrono::NaiveDateTime;
use db_kit::{Db, json, statement};
use diesel::dsl::SqlTypeOf;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text, Timestamp};
use serde::Serialize;

use crate::accounts::model::AccountRow;
use crate::columns::Columns;
use crate::request_context::RequestContext;
use crate::schema::sessions;
use crate::sessions::model::IDLE_LIFE;
use crate::sessions::refresh_check::TokenHolder;
use crate::token_access::GrantRow;
use crate::tokens::refresh_token::RefreshToken;

/// A presented refresh token and its replacement.
#[derive(Debug, Clone, Serialize)]
pub(in crate::sessions) struct RefreshRotation {
    lineage: String,
    presented: String,
    successor: String,
    /// The OAuth client that presents it, or `None` for the product's own clients and SSO sites.
    client_id: Option<String>,
    address: Option<String>,
    user_agent: Option<String>,
    #[serde(serialize_with = "json::timestamp")]
    pub(in crate::sessions) now: NaiveDateTime,
    /// When the successor expires if it is not used.
    #[serde(serialize_with = "json::timestamp")]
    idle_until: NaiveDateTime,
}

/// A session whose token is rotated, and its account.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct RotatedSession {
    #[diesel(column_name = id)]
    pub(crate) session_id: String,
    /// When the owner last authenticated.
    pub(crate) authenticated_at: NaiveDateTime,
    pub(crate) has_second_factor: bool,
    #[diesel(embed)]
    pub(crate) grant: GrantRow,
    #[diesel(embed)]
    pub(crate) account: AccountRow,
}

impl RefreshRotation {
    pub(in crate::sessions) fn new(
        (presented, successor): (&RefreshToken, &RefreshToken),
        holder: TokenHolder<'_>,
        context: &RequestContext,
        now: NaiveDateTime,
    ) -> Self {
        Self {
            lineage: presented.lineage(),
            presented: presented.hash(),
            successor: successor.hash(),
            client_id: holder.client_id().map(str::to_owned),
            address: context.address_text(),
            user_agent: context.user_agent.clone(),
            now,
            idle_until: now + IDLE_LIFE,
        }
    }

    /// Returns a key of the token's lineage. A batch contains at most one rotation per key.
    pub(in crate::sessions) fn owner(&self) -> i64 {
        let first = self.lineage.bytes().take(8);
        first.fold(0, |owner, byte| (owner << 8) | i64::from(byte))
    }
}

type RotatedSql = SqlTypeOf<(sessions::refresh_lineage, Columns<RotatedSession>)>;

/// Replaces the presented refresh tokens that are current by their successors, and returns their sessions. `None`
/// stands for a token that is not current or whose session is locked. On SQLite, where `refresh` rotates each token alone,
/// it is not called.
pub(in crate::sessions) fn rotate_many(
    db: &mut Db,
    rotations: &[RefreshRotation],
) -> QueryResult<Vec<Option<RotatedSession>>> {
    let mut rotated: HashMap<String, RotatedSession> = HashMap::new();
    if let Db::Pg(conn) = db {
        let rotate = statement::<RotatedSql>(include_str!("rotate_many.postgres.sql"))
            .bind::<Text, _>(json::to_text(&rotations)?);
        rotated.extend(rotate.load::<(String, RotatedSession)>(conn)?);
    }
    let lineages = rotations.iter().map(|rotation| &rotation.lineage);
    Ok(lineages.map(|lineage| rotated.remove(lineage)).collect())
}

/// Replaces the presented refresh token by its successor if it is current; waits while the session is locked. This
/// one statement decides every race: of all callers with the same token, one gets true.
pub(in crate::sessions) fn rotate(db: &mut Db, rotation: &RefreshRotation) -> QueryResult<bool> {
    let rotate = statement::<()>(include_str!("rotate.sql"))
        .bind::<Text, _>(&rotation.successor)
        .bind::<Text, _>(&rotation.presented)
        .bind::<Timestamp, _>(rotation.now)
        .bind::<Timestamp, _>(rotation.idle_until)
        .bind::<Nullable<Text>, _>(&rotation.address)
        .bind::<Nullable<Text>, _>(&rotation.user_agent)
        .bind::<Text, _>(&rotation.lineage)
        .bind::<Nullable<Text>, _>(&rotation.client_id);
    let rotated = rotate.execute(db)?;
    Ok(rotated == 1)
}
