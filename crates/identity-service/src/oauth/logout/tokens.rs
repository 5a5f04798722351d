//! Logout tokens (OpenID Connect Back-Channel Logout section 2.4).

use std::sync::{Arc, Weak};

use broker::{Completion, RowCompletion};
use chrono::{DateTime, TimeDelta, Utc};
use db_kit::outbox::OutboxRow;
use event_types::{Event, EventData as _, LogoutCall, LogoutRequested, LogoutToken, RawEventData};
use jsonwebtoken::Header;
use serde::Serialize;
use serde_json::{Value, json};
use service_kit::seal::SealError;
use uuid::Uuid;

use super::UnsignedLogout;
use crate::app::App;
use crate::error::Error;
use crate::tokens::{SigningAlgorithm, SigningKey};

/// The type in the header of logout tokens. It keeps other tokens from being accepted in their place.
const TYPE: &str = "logout+jwt";
/// The member of the claim `events`.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// When the attempts are made, in seconds after the publication. Each has a token of its own. Clients refuse old tokens,
/// and only this service can sign, so the tokens of later attempts are signed ahead.
const ATTEMPTS: [i64; 7] = [0, 10, 60, 600, 3_600, 6 * 3_600, 24 * 3_600];

/// The claims of a logout token. It has no `nonce`, which would make it look like an ID token.
#[derive(Serialize)]
struct LogoutClaims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: String,
    sid: &'a str,
    events: Value,
}

/// Returns the relay's step that signs the tokens of logout calls.
pub(crate) fn completion(app: Weak<App>) -> RowCompletion {
    RowCompletion {
        routing_key: LogoutRequested::TYPE,
        complete: Arc::new(move |row| {
            let app = app.upgrade();
            Box::pin(async move {
                match app {
                    Some(app) => complete(&app, row).await,
                    None => Completion::Later("the service stops".to_owned()),
                }
            })
        }),
    }
}

async fn complete(app: &App, row: OutboxRow) -> Completion {
    let opened = Event::decode(row.body.as_bytes())
        .and_then(|event| Ok((event.data_as::<LogoutRequested>()?, event)));
    let (requested, event) = match opened {
        Ok(opened) => opened,
        Err(error) => return Completion::Never(error.to_string()),
    };
    let (sealer, client_id) = (&app.sealers.logouts, requested.client_id);
    let unsigned = match UnsignedLogout::open(sealer, &client_id, &requested.sealed) {
        Ok(unsigned) => unsigned,
        // The operator may add the key.
        Err(error @ SealError::UnknownKey(_)) => return Completion::Later(error.to_string()),
        Err(error) => return Completion::Never(error.to_string()),
    };
    match signed_event(app, client_id, unsigned, event).await {
        Ok(body) => Completion::Done(OutboxRow { body, ..row }),
        Err(error) => Completion::Later(error.to_string()),
    }
}

async fn signed_event(
    app: &App,
    client_id: String,
    unsigned: UnsignedLogout,
    event: Event,
) -> Result<String, Error> {
    let algorithm = SigningAlgorithm::parse(&unsigned.algorithm)
        .ok_or_else(|| Error::internal("algorithm of a logout call", &unsigned.algorithm))?;
    let key = app.keys(algorithm).signing_key().await?;
    let (issuer, now) = (Arc::clone(&app.base_url), app.clock.now());
    let audience = client_id.clone();
    let call = tokio::task::spawn_blocking(move || {
        let sign = |seconds| {
            let at = now + TimeDelta::seconds(seconds);
            sign(&key, algorithm, &issuer, &audience, &unsigned, at)
        };
        let tokens = ATTEMPTS.into_iter().map(sign);
        Ok::<_, Error>(LogoutCall {
            tokens: tokens.collect::<Result<_, _>>()?,
            uri: unsigned.uri,
        })
    });
    let call = call
        .await
        .map_err(|error| Error::internal("signing a logout token", error))??;
    let written = |error| Error::internal("writing a logout call", error);
    let plain = serde_json::to_vec(&call).map_err(written)?;
    let sealed = app
        .sealers
        .logouts
        .seal(&LogoutRequested::seal_context(&client_id), &plain)
        .map_err(|error| Error::internal("sealing a logout call", error))?;
    let data = LogoutRequested { client_id, sealed };
    let data = RawEventData::from_value(&data).map_err(written)?;
    Event { data, ..event }
        .encode()
        .map_err(|error| Error::internal("writing a logout call", error))
}

fn sign(
    key: &SigningKey,
    algorithm: SigningAlgorithm,
    issuer: &str,
    audience: &str,
    unsigned: &UnsignedLogout,
    at: DateTime<Utc>,
) -> Result<LogoutToken, Error> {
    let claims = LogoutClaims {
        iss: issuer,
        sub: &unsigned.sub,
        aud: audience,
        iat: at.timestamp(),
        exp: (at + LogoutToken::LIFE).timestamp(),
        jti: Uuid::new_v4().to_string(),
        sid: &unsigned.sid,
        events: json!({ EVENT: {} }),
    };
    let mut header = Header::new(algorithm.jwt());
    header.typ = Some(TYPE.to_owned());
    header.kid = Some(key.kid.clone());
    let jwt = jsonwebtoken::encode(&header, &claims, &key.key)
        .map_err(|error| Error::internal("signing a logout token", error))?;
    Ok(LogoutToken {
        valid_from: at,
        jwt,
    })
}
