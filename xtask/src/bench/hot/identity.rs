//! Whose token is it?

use super::limits::{self, Responder};
use super::scene::Scene;
use super::{Backend, Options, asked, rounds};
use crate::bench::http::Client;
use crate::bench::table::Row;
use crate::cmd::{Result, fail};
use crate::system;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const PATH: &str = "/api/auth/validate";
/// Live tokens that the memory has room for.
const FEW: usize = 1_000;

pub(super) fn validate(backend: Backend, options: &Options) -> Result<Row> {
    let scene = Scene::set(backend, &["identity"], &[])?;
    let (tokens, file) = scene.sign_in(FEW)?;
    let responder = Responder::bare(size(&scene, &tokens)?, scene.folder())?;
    let mut row = Row {
        work: format!("validate, {FEW} tokens, {}", backend.name()),
        against: "a bare actix-web responder",
        goal: 0.60,
        p99_goal: Some(6.0),
        ..Row::default()
    };
    measure(&mut row, scene, &file, options, |time| {
        responder.rate(&file, time)
    })?;
    Ok(row)
}

pub(super) fn validate_many(options: &Options) -> Result<Row> {
    let scene = Scene::set(Backend::Postgres, &["identity"], &[])?;
    let (tokens, file) = scene.sign_in(options.tokens)?;
    let address = scene.address("identity")?;
    let (_, keys) = Client::new(address, "").send("GET", "/.well-known/jwks.json", "")?;
    let keys: Value = serde_json::from_str(&keys)?;
    let Some(key) = keys.pointer("/keys/0") else {
        return fail("no key");
    };
    let bytes = size(&scene, &tokens)?;
    let responder = Responder::verifying(bytes, &key.to_string(), scene.folder())?;
    let mut row = Row {
        work: format!("validate, {} tokens", options.tokens),
        against: "the responder with an ES256 verification",
        goal: 0.80,
        ..Row::default()
    };
    measure(&mut row, scene, &file, options, |time| {
        responder.rate(&file, time)
    })?;
    Ok(row)
}

pub(super) fn validate_unremembered(options: &Options) -> Result<Row> {
    let off = [("IDENTITY__TOKENS__REMEMBER", "false".to_owned())];
    let scene = Scene::set(Backend::Postgres, &["identity"], &off)?;
    let (_, file) = scene.sign_in(FEW)?;
    let (tables, select) = limits::ONE_SELECT;
    let scratch = scene.scratch(tables)?;
    let mut row = Row {
        work: "validate, nothing remembered".to_owned(),
        against: "PostgreSQL, one select by key",
        goal: 0.20,
        ..Row::default()
    };
    measure(&mut row, scene, &file, options, |time| {
        limits::pgbench(&scratch, select, time)
    })?;
    Ok(row)
}

/// Fills in what the rounds come to.
fn measure(
    row: &mut Row,
    mut scene: Scene,
    tokens: &Path,
    options: &Options,
    limit: impl FnMut(Duration) -> Result<f64>,
) -> Result {
    let process = scene.process("identity")?;
    let url = format!("{}{PATH}", scene.address("identity")?);
    let ours = |time| asked(process, &url, tokens, time);
    row.samples = rounds(&row.work, options, ours, limit)?;
    row.rss_mb = system::resident_mb(process)?;
    Ok(())
}

/// Bytes of an answer.
fn size(scene: &Scene, tokens: &[String]) -> Result<usize> {
    let token = tokens.last().map_or("", String::as_str);
    let (status, body) = Client::new(scene.address("identity")?, token).send("GET", PATH, "")?;
    match status {
        200 => Ok(body.len()),
        _ => fail(format!("{PATH}: {status} {body}")),
    }
}
