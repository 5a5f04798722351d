//! New tokens for old, asked of a program of ours or of others.

use super::rounds::told;
use crate::load::{self, Shot};
use crate::table::Sample;
use serde_json::Value;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system;

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
    let shots = tokens.iter().map(|token| Shot {
        token: String::new(),
        method: "POST",
        path: words.path,
        body: (words.body)(token),
    });
    let before = system::cpu_time(process)?;
    let outcome = load::drain_with(&words.headers, address, shots.collect(), CONNECTIONS)?;
    let used = system::cpu_time(process)? - before;
    let mut sample = told(&outcome, 200)?;
    sample.cpu_us = used.as_secs_f64() * 1e6 / f64::from(u32::try_from(tokens.len())?);
    let successors = outcome.bodies.iter().map(|body| {
        let pair: Value = serde_json::from_str(body)?;
        match pair.pointer("/refresh_token").and_then(Value::as_str) {
            Some(token) => Ok(token.to_owned()),
            None => fail(format!("{}: no refresh token in an answer", words.path)),
        }
    });
    *tokens = successors.collect::<Result<_>>()?;
    Ok(sample)
}
