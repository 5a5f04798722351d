//! Validation of several tokens at once.

use std::time::Duration;

use auth_types::wire::VALIDATE_BATCH;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::routes::not_valid;
use super::service;
use crate::app::App;
use crate::error::{self, Error};

/// How long one token may hold up the others. What takes longer, such as one of an unknown key or of a session that a
/// busy database is asked for, is to be asked about alone.
const EACH: Duration = Duration::from_millis(20);

/// The body of the answer: of each token, in their order, the status and the body that validate answers.
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
        .map(|token| timeout(EACH, service::validate(app, token, with_teams)));
    // The bodies are JSON already, those of good tokens ready for whoever asks again: they are put together as they are.
    let mut body = br#"{"answers":["#.to_vec();
    for (nth, answer) in join_all(asked).await.into_iter().enumerate() {
        if nth > 0 {
            body.push(b',');
        }
        match answer {
            Ok(Ok(valid)) => push(&mut body, 200, &valid),
            Ok(Err(error)) if error.is_unauthorized() => {
                let told = not_valid(&error).body(error::render).to_string();
                push(&mut body, 401, told.as_bytes());
            }
            // Why is told to whoever asks about it alone.
            Ok(Err(_)) | Err(_) => push(&mut body, 503, br#"{"error":"unavailable"}"#),
        }
    }
    body.extend_from_slice(b"]}");
    Ok(body)
}

fn push(body: &mut Vec<u8>, status: u16, told: &[u8]) {
    body.extend_from_slice(format!(r#"{{"status":{status},"body":"#).as_bytes());
    body.extend_from_slice(told);
    body.push(b'}');
}
