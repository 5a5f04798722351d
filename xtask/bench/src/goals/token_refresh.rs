//! Refreshes tokens, at the product or at a peer.

use super::measurement::written;
use crate::load::{self, LoadRequest};
use crate::results_table::Sample;
use serde_json::Value;
use xtask_fixtures::http::text;
use xtask_kit::cmd::{Result, fail};

/// Connections over which tokens are refreshed.
pub(super) const CONNECTIONS: usize = 32;

/// The parts of a program's refresh request.
pub(super) struct RefreshRequestShape {
    pub(super) path: &'static str,
    /// Header lines, each ending in `\r\n`.
    pub(super) headers: String,
    /// Returns the body for a refresh token.
    pub(super) body: fn(&str) -> String,
}

/// Uses every token once. Its successor takes its place.
pub(super) fn refreshed(
    process: u32,
    address: &str,
    words: &RefreshRequestShape,
    tokens: &mut Vec<String>,
) -> Result<Sample> {
    let shots = tokens.iter();
    let shots = shots.map(|token| LoadRequest::post("", words.path, (words.body)(token)));
    let shots = shots.collect();
    let (sample, outcome) = written(process, 200, || {
        load::drain_with(&words.headers, address, shots, CONNECTIONS)
    })?;
    let successors = outcome.bodies.iter().map(|body| {
        let pair: Value = serde_json::from_str(body)?;
        match text(&pair, "/refresh_token") {
            "" => fail(format!("{}: no refresh token in a response", words.path)),
            token => Ok(token.to_owned()),
        }
    });
    *tokens = successors.collect::<Result<_>>()?;
    Ok(sample)
}
