use std::collections::{HashMap, HashSet};

use super::model::AuditRow;
use super::queries;
use super::wire::{AuditEntry, AuditList, AuditQuery, Person};
use crate::admin;
use crate::app::App;
use crate::error::Error;
use crate::pagination::page_size;

/// Returns a page of the log, with the current usernames of the accounts.
pub(crate) async fn list(app: &App, filter: AuditQuery) -> Result<AuditList, Error> {
    let limit = page_size(filter.limit)?;
    let action = filter.action.as_deref().unwrap_or_default();
    if !action
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b"._".contains(&b))
    {
        return Err(Error::Validation(
            "action must be a name such as session.refused, or the part before the dot".into(),
        ));
    }
    app.pool
        .read(move |db| {
            let mut rows = queries::list(db, &filter, limit)?;
            let more = rows.len() > usize::from(limit);
            rows.truncate(limit.into());
            let next_cursor = rows.last().filter(|_| more).map(|row| row.id);
            let ids: HashSet<i64> = rows
                .iter()
                .flat_map(|row| [row.user_id, row.actor_id])
                .flatten()
                .collect();
            let names = admin::queries::names(db, &ids)?;
            let entries = rows.into_iter().map(|row| entry(row, &names));
            Ok(AuditList {
                entries: entries.collect::<Result<_, _>>()?,
                next_cursor,
            })
        })
        .await
}

fn entry(row: AuditRow, names: &HashMap<i64, String>) -> Result<AuditEntry, Error> {
    let person = |id: i64| Person {
        id,
        username: names.get(&id).cloned(),
    };
    let details = row.details.as_deref().map(serde_json::from_str).transpose();
    Ok(AuditEntry {
        id: row.id,
        at: row.at.and_utc(),
        action: row.action,
        user: row.user_id.map(person),
        actor: row.actor_id.map(person),
        via: row.via,
        session_id: row.session_id,
        address: row.address,
        details: details.map_err(|error| Error::internal("audit_log.details", error))?,
    })
}
