//! Validation of several tokens at once.

use auth_types::wire::VALIDATE_BATCH;
use futures_util::future::join_all;

use super::routes::not_valid;
use super::service;
use crate::app::App;
use crate::error::{self, Error};

/// The body of the answer: of each token, in their order, the status and the body that validate answers. What keeps
/// one of them from being judged, such as a database that is away, keeps all.
pub(super) async fn validate(
    app: &App,
    tokens: &[String],
    with_teams: bool,
) -> Result<Vec<u8>, Error> {
    if tokens.len() > VALIDATE_BATCH {
        return Err(Error::Validation("at most 64 tokens".into()));
    }
    let asked = tokens
        .iter()
        .map(|token| service::validate(app, token, with_teams));
    // The bodies are JSON already, those of good tokens ready for whoever asks again: they are put together as they are.
    let mut body = br#"{"answers":["#.to_vec();
    for (nth, answer) in join_all(asked).await.into_iter().enumerate() {
        if nth > 0 {
            body.push(b',');
        }
        match answer {
            Ok(valid) => {
                body.extend_from_slice(br#"{"status":200,"body":"#);
                body.extend_from_slice(&valid);
            }
            Err(error) if error.is_unauthorized() => {
                body.extend_from_slice(br#"{"status":401,"body":"#);
                let told = not_valid(&error).body(error::render);
                body.extend_from_slice(told.to_string().as_bytes());
            }
            Err(error) => return Err(error),
        }
        body.push(b'}');
    }
    body.extend_from_slice(b"]}");
    Ok(body)
}
