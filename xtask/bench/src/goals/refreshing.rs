//! New tokens for old, asked of a program of ours or of others.

use super::rounds::written;
use crate::load::{self, Shot};
use crate::table::Sample;
use serde_json::Value;
use xtask_kit::cmd::{Result, fail};
use xtask_stand::http::text;

/// Connections over which tokens are refreshed.
pub(super) const CONNECTIONS: usize = 32;

/// How a program is asked for new tokens.
pub(super) struct RefreshWords {
    pub(super) path: &'static str,
    /// Each ended by `\r\n`.
    pub(super) headers: String,
    /// What is sent with a refresh token.
    pub(super) body: fn(&str) -> String,
}

/// Every token once; its successor takes its place.
pub(super) fn refreshed(
    process: u32,
    address: &str,
    words: &RefreshWords,
    tokens: &mut Vec<String>,
) -> Result<Sample> {
    let shots = tokens.iter();
    let shots = shots.map(|token| Shot::post("", words.path, (words.body)(token)));
    let shots = shots.collect();
    let (sample, outcome) = written(process, 200, || {
        load::drain_with(&words.headers, address, shots, CONNECTIONS)
    })?;
    let successors = outcome.bodies.iter().map(|body| {
        let pair: Value = serde_json::from_str(body)?;
        match text(&pair, "/refresh_token") {
            "" => fail(format!("{}: no refresh token in an answer", words.path)),
            token => Ok(token.to_owned()),
        }
    });
    *tokens = successors.collect::<Result<_>>()?;
    Ok(sample)
}
