use std::collections::{HashMap, HashSet};

use super::model::{AuditRow, Filter};
use super::queries;
use super::wire::{AuditEntry, AuditList, Person};
use crate::admin;
use crate::app::App;
use crate::error::Error;
use crate::page::check_limit;

/// A page of the log with the names of the accounts as they are now.
pub(crate) async fn list(app: &App, filter: Filter) -> Result<AuditList, Error> {
    check_limit(filter.limit)?;
    let action = filter.action.as_deref().unwrap_or_default();
    if !action
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b"._".contains(&b))
    {
        return Err(Error::Validation(
            "action must be a name such as session.refused, or the part before its dot".into(),
        ));
    }
    app.pool
        .read(move |db| {
            let mut rows = queries::list(db, &filter)?;
            let more = rows.len() > usize::from(filter.limit);
            rows.truncate(filter.limit.into());
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
