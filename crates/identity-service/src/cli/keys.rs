use chrono::{DateTime, Utc};
use clap::Subcommand;
use serde::Serialize;

use super::context::{Context, Failure};
use super::output::{Column, count, day, minute, table};
use crate::admin;
use crate::tokens::rotation;

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Show the keys, newest first
    List,
    /// Make a new signing key; what the old one signed stays good
    Rotate {
        /// Rotate although the current key does not open: the encryption key of the service is lost
        #[arg(long)]
        lost_key: bool,
    },
    /// Seal with the current encryption key what older ones have sealed
    ///
    /// Signing keys and second factors: once every service has the new IDENTITY__KEYS__ENCRYPTION_KEY
    /// and this was run, IDENTITY__KEYS__ENCRYPTION_KEYS_OLD is needed no more.
    Reseal,
    /// Refuse whatever a retired key has signed
    ///
    /// For a key that fell into wrong hands: rotate first. Whoever is signed in gets a token of the new
    /// key by refreshing.
    Remove {
        /// As `list` shows it
        // An id may begin with a hyphen.
        #[arg(value_name = "KEY", allow_hyphen_values = true)]
        kid: String,
    },
}

/// A key without its secret half.
#[derive(Serialize)]
struct Key {
    kid: String,
    algorithm: String,
    /// `signing`, or `verifying` once it is retired.
    state: &'static str,
    created_at: DateTime<Utc>,
    retired_at: Option<DateTime<Utc>>,
    /// When nothing alive can have been signed with it any more.
    removed_after: Option<DateTime<Utc>>,
}

#[derive(Serialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Serialize)]
struct Rotated {
    /// False when somebody else rotated at the same moment.
    changed: bool,
    kid: String,
    retired: Option<String>,
}

#[derive(Serialize)]
struct Removed {
    kid: String,
}

pub(super) async fn run(context: &Context, command: KeysCommand) -> Result<(), Failure> {
    match command {
        KeysCommand::List => list(context).await,
        KeysCommand::Rotate { lost_key } => rotate(context, lost_key).await,
        KeysCommand::Reseal => reseal(context).await,
        KeysCommand::Remove { kid } => remove(context, kid).await,
    }
}

async fn list(context: &Context) -> Result<(), Failure> {
    let rows = rotation::list(&context.app).await?;
    let keys = rows.into_iter().map(|row| Key {
        state: if row.retired_at.is_none() {
            "signing"
        } else {
            "verifying"
        },
        removed_after: rotation::gone_after(&row).map(|at| at.and_utc()),
        created_at: row.created_at.and_utc(),
        retired_at: row.retired_at.map(|at| at.and_utc()),
        kid: row.kid,
        algorithm: row.algorithm,
    });
    let keys = Keys {
        keys: keys.collect(),
    };
    context.show(&keys, listed)
}

fn listed(keys: &Keys) -> String {
    let rows = keys.keys.iter().map(|key| {
        [
            key.kid.clone(),
            key.state.to_owned(),
            minute(key.created_at),
            key.retired_at.map_or_else(|| "-".to_owned(), minute),
            key.removed_after.map_or_else(|| "-".to_owned(), day),
        ]
    });
    let columns = [
        Column::Whole("KEY"),
        Column::Whole("STATE"),
        Column::Whole("CREATED (UTC)"),
        Column::Whole("RETIRED (UTC)"),
        Column::Whole("KEPT UNTIL"),
    ];
    table(
        columns,
        rows,
        "There is no key yet; the service makes one when it starts.",
    )
}

async fn rotate(context: &Context, lost_key: bool) -> Result<(), Failure> {
    let rotated = rotation::rotate(&context.app, &context.origin, lost_key).await?;
    let rotated = Rotated {
        changed: !rotated.by_another,
        kid: rotated.kid,
        retired: rotated.retired,
    };
    context.show(&rotated, |rotated| match (rotated.changed, &rotated.retired) {
        (false, _) => format!(
            "Somebody else rotated at this moment; {} signs from now on.",
            rotated.kid
        ),
        (true, Some(old)) => format!(
            "{} signs from now on.\n{old} is retired; what it signed stays good until it expires.",
            rotated.kid
        ),
        (true, None) => format!("{} signs from now on.", rotated.kid),
    })
}

async fn reseal(context: &Context) -> Result<(), Failure> {
    let resealed = admin::reseal::reseal(&context.app, &context.origin).await?;
    context.show(&resealed, |resealed| {
        let mut text = match (resealed.signing_keys, resealed.second_factors) {
            (0, 0) => "Nothing was sealed with an older key.".to_owned(),
            (keys, factors) => format!(
                "{} and {} are sealed with the current encryption key now.",
                count(keys, "signing key"),
                count(factors, "second factor")
            ),
        };
        if resealed.not_opened > 0 {
            text += &format!(
                "\n{} cannot be opened with any configured key; {} lets their owners in.",
                count(resealed.not_opened, "second factor"),
                context.command("users remove-totp")
            );
        }
        text
    })
}

async fn remove(context: &Context, kid: String) -> Result<(), Failure> {
    if !rotation::remove(&context.app, &context.origin, kid.clone()).await? {
        return Err(Failure::Refused(format!(
            "there is no retired key {kid}; {} shows the keys, and the one that signs is retired by {}",
            context.command("keys list"),
            context.command("keys rotate")
        )));
    }
    context.show(&Removed { kid }, |removed| {
        format!(
            "{} is removed; what it signed is refused from now on.",
            removed.kid
        )
    })
}
