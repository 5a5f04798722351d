use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use db_kit::Db;
use diesel::QueryResult;
use serde_json::Value;

use super::queries::{self, EntryRow, ExportMembershipRow};
use super::wire::{ExportResponse, ExportedApplication, ExportedEntry, ExportedMembership};
use crate::accounts;
use crate::accounts::model::Viewer;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::oauth::consents;
use crate::oauth::consents::ConsentRow;
use crate::photos;
use crate::photos::model::PhotoRow;
use crate::rate_limits::AccountLimit;
use crate::request_context::RequestContext;
use crate::teams::model::effective_role;
use crate::totp;

/// The maximum length of every list except the audit log.
const MOST: usize = 1_000;
/// The maximum number of audit entries.
const MOST_ENTRIES: usize = 10_000;

/// Reads everything about the caller from the database, after recording the export in the audit log.
pub(crate) async fn export(
    app: &App,
    caller: &CurrentUser,
    context: &RequestContext,
) -> Result<ExportResponse, Error> {
    let user_id = caller.account.id;
    app.rate_limits
        .check_account(AccountLimit::Export, user_id)?;
    let exported =
        NewAuditEntry::on(AuditAction::EXPORTED, user_id).session(&caller.token.session_id);
    app.transact(&context.clone().for_caller(caller), move |tx| {
        tx.audit(&exported)
    })
    .await?;
    let now = app.clock.now();
    let (base_url, plans) = (app.base_url.clone(), app.premium.clone());
    app.pool
        .read(move |db| {
            let account =
                accounts::queries::find_account(db, user_id)?.ok_or(Error::TokenRevoked)?;
            let totp_enabled = totp::is_on(db, user_id)?;
            let photo = photos::queries::find_photo(db, user_id)?;
            let truncated = Vec::new();
            let mut reader = ListReader {
                db,
                user_id,
                truncated,
            };
            let sessions = reader.list("sessions", MOST, queries::list_sessions)?;
            let teams = reader.list("teams", MOST, queries::list_memberships)?;
            let left = reader.list("teams_left", MOST, queries::list_departures)?;
            let consents = consents::queries::list_consents;
            let applications = reader.list("applications", MOST, consents)?;
            let received = reader.list("invitations_received", MOST, queries::list_received)?;
            let sent = reader.list("invitations_sent", MOST, queries::list_sent)?;
            let entries = reader.list("audit_log", MOST_ENTRIES, queries::list_entries)?;
            Ok(ExportResponse {
                exported_at: now,
                account: account.to_user(Viewer::SELF_OR_SUPERADMIN, now.naive_utc(), &base_url)?,
                premium: account.premium(|tier| plans.bandwidth_mb(tier), now.naive_utc())?,
                totp_enabled,
                profile_photo: photo.map(data_url),
                sessions: sessions.collect(),
                teams: teams
                    .map(|row| membership(row, user_id))
                    .collect::<Result<_, _>>()?,
                teams_left: left.collect(),
                applications: applications.map(application).collect(),
                invitations_received: received.collect(),
                invitations_sent: sent.collect(),
                audit_log: entries.map(|row| entry(row, user_id)).collect(),
                truncated: reader.truncated,
            })
        })
        .await
}

/// Reads lists of one account, and records which of them exceed their limit.
struct ListReader<'a> {
    db: &'a mut Db,
    user_id: UserId,
    truncated: Vec<&'static str>,
}

impl ListReader<'_> {
    /// Reads one row more than the limit, to learn whether there are more.
    fn list<T>(
        &mut self,
        name: &'static str,
        most: usize,
        read: impl FnOnce(&mut Db, UserId, i64) -> QueryResult<Vec<T>>,
    ) -> QueryResult<std::iter::Take<std::vec::IntoIter<T>>> {
        let limit = i64::try_from(most + 1).unwrap_or(i64::MAX);
        let rows = read(self.db, self.user_id, limit)?;
        if rows.len() > most {
            self.truncated.push(name);
        }
        Ok(rows.into_iter().take(most))
    }
}

fn data_url(photo: PhotoRow) -> String {
    let bytes = STANDARD.encode(photo.bytes);
    format!("data:{};base64,{bytes}", photo.content_type)
}

fn application(row: ConsentRow) -> ExportedApplication {
    ExportedApplication {
        client_id: row.client_id,
        name: row.client_name,
        scope: row.scope,
        allowed_at: row.created_at.and_utc(),
        updated_at: row.updated_at.and_utc(),
    }
}

fn membership(row: ExportMembershipRow, user_id: UserId) -> Result<ExportedMembership, Error> {
    Ok(ExportedMembership {
        role: effective_role(row.owner_id, user_id, &row.role)?,
        team: row.team,
        joined_at: row.joined_at.and_utc(),
    })
}

fn entry(row: EntryRow, user_id: UserId) -> ExportedEntry {
    let by_other = row.actor_id.is_some_and(|actor| actor != user_id);
    let details = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
    ExportedEntry {
        at: row.at.and_utc(),
        action: row.action,
        session_id: row.session_id,
        actor_id: row.actor_id,
        address: row.address.filter(|_| !by_other),
        via: row.via,
        details: row.details.map(details),
    }
}
