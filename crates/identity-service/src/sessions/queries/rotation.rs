use chrono::NaiveDateTime;
use db_kit::Db;
use db_kit::statement::{Statement, arguments};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use crate::access::GrantRow;
use crate::accounts::model::{AccountColumns, AccountRow};
use crate::sessions::model::{Client, Holder, IDLE_LIFE};
use crate::tokens::refresh::RefreshToken;

arguments! {
    many Rotations,
    /// A refresh token that somebody presents, and what takes its place.
    #[derive(Debug, Clone)]
    pub(in crate::sessions) struct Rotation {
        lineage: String as Text,
        presented: String as Text,
        successor: String as Text,
        /// The OAuth client that presents it; none for one of the product's own.
        client_id: Option<String> as Nullable<Text>,
        address: Option<String> as Nullable<Text>,
        user_agent: Option<String> as Nullable<Text>,
        now: NaiveDateTime as Timestamp,
        /// When the successor is good for nothing any more.
        idle_until: NaiveDateTime as Timestamp,
    }
}

/// A session whose token is rotated, and its account.
#[derive(Debug, Queryable)]
pub(in crate::sessions) struct Rotated {
    pub(in crate::sessions) session_id: String,
    pub(in crate::sessions) authenticated_at: NaiveDateTime,
    pub(in crate::sessions) grant: GrantRow,
    pub(in crate::sessions) account: AccountRow,
}

impl Rotation {
    pub(in crate::sessions) fn new(
        (presented, successor): (&RefreshToken, &RefreshToken),
        holder: Holder<'_>,
        client: Client,
        now: NaiveDateTime,
    ) -> Self {
        Self {
            lineage: presented.lineage(),
            presented: presented.hash(),
            successor: successor.hash(),
            client_id: holder.client_id().map(str::to_owned),
            address: client.address,
            user_agent: client.user_agent,
            now,
            idle_until: now + IDLE_LIFE,
        }
    }

    /// The same for the tokens of one lineage: of those one goes into a statement.
    pub(in crate::sessions) fn owner(&self) -> i64 {
        let first = self.lineage.bytes().take(8);
        first.fold(0, |owner, byte| (owner << 8) | i64::from(byte))
    }
}

/// Whether a session's refresh token is the presented one, in the hands it was given to, of an account that may sign in.
macro_rules! good {
    () => {
        "refresh_lineage = p_lineage AND refresh_hash = p_presented AND revoked_at IS NULL AND expires_at > p_now \
         AND refresh_expires_at > p_now AND CASE WHEN p_client_id IS NULL THEN kind NOT IN ('browser', 'client') \
         ELSE kind = 'client' AND client_id = p_client_id END \
         AND EXISTS (SELECT 1 FROM users WHERE users.id = sessions.user_id AND users.is_active)"
    };
}

macro_rules! replace {
    () => {
        "UPDATE sessions SET refresh_hash = p_successor, refresh_previous_hash = p_presented, \
         refresh_rotated_at = p_now, refresh_expires_at = p_idle_until, address = p_address, \
         user_agent = p_user_agent FROM "
    };
}

/// Of sessions that nobody else holds: who has one waits for nobody, and leaves it to the one who asks alone.
const ROTATE_PG: &str = concat!(
    ", held AS (SELECT a.*, sessions.id AS held_id FROM a JOIN sessions ON ",
    good!(),
    " AND refresh_lineage = ANY (ARRAY(SELECT p_lineage FROM a)) FOR UPDATE OF sessions SKIP LOCKED) ",
    replace!(),
    "held JOIN users ON true WHERE sessions.id = held_id AND sessions.id = ANY (ARRAY(SELECT held_id FROM held)) \
     AND users.id = sessions.user_id AND refresh_hash = p_presented \
     RETURNING nth, sessions.id, authenticated_at, kind, service, client_id, scope, sso_origin, users.id, username, email, \
      email_verified, bio, website_url, is_active, role, premium_tier, premium_expires_at, users.created_at, \
      updated_at, photo_version"
);

type RotatedSql = (
    Text,
    Timestamp,
    (
        Text,
        Nullable<Text>,
        Nullable<Text>,
        Nullable<Text>,
        Nullable<Text>,
    ),
    AccountSql,
);

/// The SQL types of [`AccountRow`].
type AccountSql = diesel::dsl::SqlTypeOf<AccountColumns>;

/// Replaces presented refresh tokens by their successors where they are the ones that are good now, and tells whose they
/// are. None for one that is not, for one whose session somebody else holds at this moment, and on SQLite.
pub(in crate::sessions) fn rotate_many(
    db: &mut Db,
    rotations: &[Rotation],
) -> QueryResult<Vec<Option<Rotated>>> {
    let mut rotated: Vec<_> = rotations.iter().map(|_| None).collect();
    let Db::Pg(conn) = db else {
        return Ok(rotated);
    };
    let of = Rotations::of(rotations);
    let rows: Vec<(i64, Rotated)> =
        Statement::<_, (BigInt, RotatedSql)>::new(|| ROTATE_PG, &of).load(conn)?;
    for (nth, row) in rows {
        let at = usize::try_from(nth - 1).ok();
        if let Some(rotated) = at.and_then(|at| rotated.get_mut(at)) {
            *rotated = Some(row);
        }
    }
    Ok(rotated)
}

/// Replaces the presented refresh token by its successor if it is the one that is good now; waits for whoever holds its
/// session. This one statement decides every race: of any number of callers with the same token one gets true.
pub(in crate::sessions) fn rotate(db: &mut Db, rotation: &Rotation) -> QueryResult<bool> {
    const ROTATE: &str = concat!(replace!(), "a WHERE ", good!());
    let rotated = Statement::<_, ()>::new(|| ROTATE, rotation).execute(db)?;
    Ok(rotated == 1)
}
