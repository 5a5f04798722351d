//! Changes to a registered client.

use chrono::NaiveDateTime;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::NewClient;
use super::model::OAuthClient;
use super::wire::{CreateOAuthClientRequest, OAuthClientBody};
use crate::error::Error;

/// The properties that stay as they were registered. Tokens, consents and authentication depend on them.
const FIXED: [&str; 3] = ["is_public", "is_first_party", "may_introspect_any"];

/// New values by the names of [`CreateOAuthClientRequest`], as a JSON merge patch (RFC 7396): an absent property stays as
/// it is, null sets the default. Unknown names are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct ClientChanges(Map<String, Value>);

impl ClientChanges {
    /// Returns the changes from one registration to another, without the fixed properties.
    pub(crate) fn between(before: &Map<String, Value>, after: &Value) -> Self {
        let after = after.as_object().into_iter().flatten();
        let changed = after.filter(|(name, value)| {
            before.get(*name) != Some(*value) && !FIXED.contains(&name.as_str())
        });
        Self(
            changed
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Sets a property. Null sets its default.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Returns the changed client, validated like a new one, and the names of what changed.
    ///
    /// # Errors
    /// [`Error::Validation`] for an invalid client, and for another value of a fixed property.
    pub(super) fn apply(
        self,
        client: &OAuthClient,
        now: NaiveDateTime,
    ) -> Result<(OAuthClient, Vec<String>), Error> {
        let before = properties(client);
        let mut wanted = before.clone();
        for (name, value) in self.0 {
            if FIXED.contains(&name.as_str()) && before.get(&name) != Some(&value) {
                return Err(Error::Validation(
                    format!("{name} cannot be changed; register a new client").into(),
                ));
            }
            wanted.insert(name, value);
        }
        // Absent fields get their defaults.
        wanted.retain(|_, value| !value.is_null());
        let wanted: CreateOAuthClientRequest =
            serde_json::from_value(wanted.into()).map_err(|error| {
                Error::Validation(format!("the changes are invalid: {error}").into())
            })?;
        let (id, secret_hash) = (client.id.clone(), client.secret_hash.clone());
        let changed = OAuthClient {
            created_at: client.created_at,
            updated_at: client.updated_at,
            pkce_seen: client.pkce_seen.clone(),
            ..NewClient::try_from(wanted)?.into_client(id, secret_hash, now)
        };
        let after = properties(&changed).into_iter();
        let is_new = |(name, value): &(String, Value)| before.get(name) != Some(value);
        let names: Vec<_> = after.filter(is_new).map(|(name, _)| name).collect();
        let updated_at = match names.is_empty() {
            true => client.updated_at,
            false => now,
        };
        Ok((
            OAuthClient {
                updated_at,
                ..changed
            },
            names,
        ))
    }
}

fn properties(client: &OAuthClient) -> Map<String, Value> {
    match json!(OAuthClientBody::from(client.clone())) {
        Value::Object(properties) => properties,
        _ => Map::new(),
    }
}
