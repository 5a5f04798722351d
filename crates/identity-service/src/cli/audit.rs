use auth_types::UserId;
use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::Value;

use super::context::{CommandError, Context, moment};
use super::users;
use crate::audit::service;
use crate::audit::wire::{AuditEntry, AuditList, AuditQuery, Person};
use crate::pagination::PAGE;
use service_kit::cli::output::{Column, second, table};

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// Only entries about this account (username or id; for a deleted account the id)
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only entries by this account (username or id; for a deleted account the id)
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
    /// Only this action, such as session.refused, or its first part, such as session, for all that share it
    #[arg(long)]
    action: Option<String>,
    /// From this time on (2027-01-31, or RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<DateTime<Utc>>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<DateTime<Utc>>,
    /// Maximum number of entries, 1 to 200
    #[arg(long, value_name = "N", default_value_t = PAGE)]
    limit: u16,
    /// Only entries before this one, for the next page
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
}

pub(super) async fn run(context: &Context, args: AuditArgs) -> Result<(), CommandError> {
    let filter = AuditQuery {
        user: id(context, args.user).await?,
        actor: id(context, args.actor).await?,
        action: args.action,
        since: args.since,
        until: args.until,
        cursor: args.before,
        limit: Some(args.limit),
    };
    let page = service::list(&context.app, filter).await?;
    context.show(&page, listed)
}

/// Returns the id of an account. An id is not looked up, because audit entries outlive the account.
async fn id(context: &Context, user: Option<String>) -> Result<Option<UserId>, CommandError> {
    match user {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(id) => Ok(Some(id)),
            Err(_) => users::find_named(context, text).await.map(Some),
        },
    }
}

fn listed(page: &AuditList) -> String {
    let rows = page.entries.iter().map(|entry| {
        [
            entry.id.to_string(),
            second(entry.at),
            entry.action.clone(),
            entry.user.as_ref().map_or_else(|| "-".to_owned(), named),
            by(entry),
            entry.address.clone().unwrap_or_else(|| "-".to_owned()),
            entry
                .details
                .as_ref()
                .map_or_else(|| "-".to_owned(), details),
        ]
    });
    let columns = [
        Column::Number("ID"),
        Column::Whole("WHEN (UTC)"),
        Column::Whole("ACTION"),
        Column::Cut("ACCOUNT"),
        Column::Cut("BY"),
        Column::Cut("FROM"),
        Column::Cut("DETAILS"),
    ];
    let mut text = table(columns, rows, "No entries found.");
    if let Some(last) = page.next_cursor {
        text += &format!("\n\nNext page: --before {last}");
    }
    text
}

fn named(person: &Person) -> String {
    match &person.username {
        Some(name) => name.clone(),
        None => format!("id {}", person.id),
    }
}

/// Returns who acted, or the channel if no signed-in account did.
fn by(entry: &AuditEntry) -> String {
    match (&entry.actor, entry.via.as_str()) {
        (Some(actor), _) => named(actor),
        (None, "command") => "command".to_owned(),
        (None, "system") => "system".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

/// Formats details: `USER → SUPERADMIN` for a changed value, `reason: deactivated` for the rest.
fn details(details: &Value) -> String {
    if let (Some(old), Some(new)) = (details.get("old"), details.get("new")) {
        return format!("{} → {}", value_of(old), value_of(new));
    }
    value_of(details)
}

fn value_of(of: &Value) -> String {
    match of {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        // A plan.
        Value::Object(fields) if fields.contains_key("tier") => {
            let part = |name| {
                fields
                    .get(name)
                    .filter(|value| !value.is_null())
                    .map(value_of)
            };
            let tier = part("tier").unwrap_or_default();
            part("expires_at").map_or_else(|| tier.clone(), |end| format!("{tier} until {end}"))
        }
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            set.map(|(name, field)| format!("{name}: {}", value_of(field)))
                .collect::<Vec<_>>()
                .join(", ")
        }
        other => other.to_string(),
    }
}
