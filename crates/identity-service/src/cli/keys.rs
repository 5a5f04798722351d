use chrono::{DateTime, Utc};
use clap::Subcommand;
use serde::Serialize;

use super::context::{CommandError, Context};
use crate::admin;
use crate::tokens::key_rotation::{self, Key, RotatedKey, RotationKind};
use service_kit::cli::output::{Column, count, day, minute, second, table};

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// List the keys, those of access tokens first, newest first
    List,
    /// Create new signing keys; tokens signed by the old ones stay valid
    ///
    /// A new key is published a few minutes before it signs: programs that verify tokens themselves cache the public
    /// keys for up to five minutes.
    Rotate {
        /// Sign with the new key at once, for a leaked key
        #[arg(long)]
        now: bool,
        /// Like --now, if the encryption key of the current keys is lost
        #[arg(long)]
        lost_key: bool,
    },
    /// Reseal with the current encryption key what older ones have sealed
    ///
    /// Covers signing keys and second factors. Once every service has the new IDENTITY__KEYS__ENCRYPTION_KEY and this
    /// command has run, IDENTITY__KEYS__ENCRYPTION_KEYS_OLD can be removed.
    Reseal,
    /// Reject everything that a retired key has signed
    ///
    /// For a leaked key; run `rotate --now` first. Signed-in users get a token of the new key by refreshing.
    Remove {
        /// Id of the key, as `list` shows it
        // An id may begin with a hyphen.
        #[arg(value_name = "KEY", allow_hyphen_values = true)]
        kid: String,
    },
}

#[derive(Serialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Serialize)]
struct Removed {
    kid: String,
}

pub(super) async fn run(context: &Context, command: KeysCommand) -> Result<(), CommandError> {
    match command {
        KeysCommand::List => list(context).await,
        KeysCommand::Rotate { lost_key: true, .. } => rotate(context, RotationKind::LostKey).await,
        KeysCommand::Rotate { now: true, .. } => rotate(context, RotationKind::Immediate).await,
        KeysCommand::Rotate { .. } => rotate(context, RotationKind::Published).await,
        KeysCommand::Reseal => reseal(context).await,
        KeysCommand::Remove { kid } => remove(context, kid).await,
    }
}

async fn list(context: &Context) -> Result<(), CommandError> {
    let keys = key_rotation::list_keys(&context.app).await?;
    context.show(&Keys { keys }, listed)
}

fn listed(keys: &Keys) -> String {
    let rows = keys.keys.iter().map(|key| {
        [
            key.kid.clone(),
            key.algorithm.clone(),
            key.state.as_str().to_owned(),
            minute(key.signs_from),
            key.removed_after.map_or_else(|| "-".to_owned(), day),
        ]
    });
    let columns = [
        Column::Whole("KEY"),
        Column::Whole("ALG"),
        Column::Whole("STATE"),
        Column::Whole("SIGNS FROM"),
        Column::Whole("KEPT UNTIL"),
    ];
    table(
        columns,
        rows,
        "No keys found; the service creates them when it starts.",
    )
}

async fn rotate(context: &Context, kind: RotationKind) -> Result<(), CommandError> {
    let rotation = key_rotation::rotate(&context.app, &context.request, kind).await?;
    let now = context.app.clock.now();
    context.show(&rotation, |rotation| {
        let mut text = describe(&rotation.es256, now);
        if let Some(rs256) = &rotation.rs256 {
            text += &format!("\n{}", describe(rs256, now));
        }
        text
    })
}

fn describe(rotated: &RotatedKey, now: DateTime<Utc>) -> String {
    let (kid, from) = (&rotated.kid, second(rotated.signs_from));
    let waits = rotated.signs_from > now;
    match (rotated.changed, &rotated.retired) {
        (false, _) if waits => {
            format!("{kid} is already published and signs from {from} UTC; nothing was changed.")
        }
        (false, _) => {
            format!("Another process rotated at the same time; {kid} signs from now on.")
        }
        (true, Some(old)) if waits => format!(
            "{kid} is published, and signs from {from} UTC.\n{old} signs until then; the tokens it signed stay valid until they expire."
        ),
        (true, Some(old)) => format!(
            "{kid} signs from now on.\n{old} is retired; the tokens it signed stay valid until they expire."
        ),
        (true, None) => format!("{kid} signs from now on."),
    }
}

async fn reseal(context: &Context) -> Result<(), CommandError> {
    let resealed = admin::reseal::reseal(&context.app, &context.request).await?;
    context.show(&resealed, |resealed| {
        let mut text = match (resealed.signing_keys, resealed.second_factors) {
            (0, 0) => "Nothing was sealed with an older key.".to_owned(),
            (keys, factors) => format!(
                "{} and {} are now sealed with the current encryption key.",
                count(keys, "signing key"),
                count(factors, "second factor")
            ),
        };
        if resealed.not_opened > 0 {
            text += &format!(
                "\n{} cannot be opened with any configured key; {} lets the owners sign in.",
                count(resealed.not_opened, "second factor"),
                context.command("users remove-totp")
            );
        }
        text
    })
}

async fn remove(context: &Context, kid: String) -> Result<(), CommandError> {
    if !key_rotation::remove(&context.app, &context.request, kid.clone()).await? {
        return Err(CommandError::Refused(format!(
            "there is no retired key {kid}; {} lists the keys, and {} retires the one that signs",
            context.command("keys list"),
            context.command("keys rotate --now")
        )));
    }
    context.show(&Removed { kid }, |removed| {
        format!(
            "{} was removed; the tokens it signed are no longer accepted.",
            removed.kid
        )
    })
}
