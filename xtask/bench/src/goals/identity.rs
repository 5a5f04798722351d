//! Measures validation, introspection and refreshing of tokens.

use super::limits::{self, Responder};
use super::measurement::{Backend, GoalOptions, asked, both, rounds, told};
use super::peers::{GLEWLWYD, OIDC_PROVIDER, TokenPeer, TokenServer, all_active};
use super::token_refresh::{CONNECTIONS, RefreshRequestShape, refreshed};
use crate::environment::{BenchEnvironment, CLIENT, SignedIn};
use crate::load::{self, LoadRequest};
use crate::results_table::{Goal, ResultRow};
use crate::wrk::Request;
use serde_json::json;
use std::time::Duration;
use xtask_fixtures::http::Client;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system;

const PATH: &str = "/api/auth/validate";
/// A number of live tokens that fits into every cache.
const FEW: usize = 1_000;
/// Refreshes in a round.
const REFRESHES: usize = 6_000;
/// Requests a second of an open loop, whose latencies include the time in queues.
const STEADY: u32 = 2_000;

/// Measures the row with this name.
type RowMeasure = fn(String, &GoalOptions) -> Result<ResultRow>;

pub(super) fn validate(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = both(
        options,
        &format!("validate, {FEW} tokens"),
        |backend, work| few(backend, work, options),
    )?;
    let others: [(String, RowMeasure); 3] = [
        (format!("validate, {FEW} tokens, {STEADY}/s"), steady),
        (format!("validate, {} tokens", options.tokens), many),
        ("validate, nothing remembered".to_owned(), unremembered),
    ];
    for (work, measure) in others {
        if options.wants(&work) {
            rows.push(measure(work, options)?);
        }
    }
    Ok(rows)
}

fn few(backend: Backend, work: String, options: &GoalOptions) -> Result<ResultRow> {
    let scene = BenchEnvironment::set(backend, &["identity"], &[])?;
    let crowd = scene.sign_in(FEW)?;
    let responder = Responder::bare(size(&scene, &crowd)?, scene.folder())?;
    let row = ResultRow {
        p99_goal: Some(6.0),
        ..ResultRow::new(work, "a bare actix-web responder", Goal::AtLeast(0.60))
    };
    measure(row, scene, &crowd, None, options, |time| {
        responder.rate(&crowd.file, time)
    })
}

/// Sends requests at a steady rate, each timed from when it was due.
fn steady(work: String, options: &GoalOptions) -> Result<ResultRow> {
    let mut scene = BenchEnvironment::set(Backend::Postgres, &["identity"], &[])?;
    let crowd = scene.sign_in(FEW)?;
    let process = scene.process("identity")?;
    let count = usize::try_from(options.seconds * u64::from(STEADY))?;
    let mut row = ResultRow {
        p99_goal: Some(6.0),
        ..ResultRow::new(work, "timed from when each was due", Goal::Told)
    };
    for _ in 0..options.rounds {
        let tokens = crowd.tokens.iter().cycle().take(count);
        let shots = tokens.map(|token| LoadRequest::get(token, PATH));
        let outcome = load::fire(
            scene.address("identity")?,
            shots.collect(),
            Duration::from_secs(1) / STEADY,
        )?;
        row.samples.push(told(&outcome, 200)?);
    }
    row.rss_mb = Some(system::resident_mb(process)?);
    Ok(row)
}

fn many(work: String, options: &GoalOptions) -> Result<ResultRow> {
    let scene = BenchEnvironment::set(Backend::Postgres, &["identity"], &[])?;
    let crowd = scene.sign_in(options.tokens)?;
    let address = scene.address("identity")?;
    let keys = Client::new(address, "").json("/.well-known/jwks.json")?;
    let Some(key) = keys.pointer("/keys/0") else {
        return fail("the identity service publishes no key");
    };
    let bytes = size(&scene, &crowd)?;
    remember(address, &crowd)?;
    let responder = Responder::verifying(bytes, &key.to_string(), scene.folder())?;
    let row = ResultRow::new(
        work,
        "the responder with an ES256 verification",
        Goal::AtLeast(0.80),
    );
    measure(row, scene, &crowd, None, options, |time| {
        responder.rate(&crowd.file, time)
    })
}

/// Validates each token once, so that the service has cached as many of them as it can.
fn remember(address: &str, crowd: &SignedIn) -> Result {
    let shots = crowd
        .tokens
        .iter()
        .map(|token| LoadRequest::get(token, PATH));
    told(&load::drain(address, shots.collect(), CONNECTIONS)?, 200).map(drop)
}

fn unremembered(work: String, options: &GoalOptions) -> Result<ResultRow> {
    let off = [("IDENTITY__TOKENS__REMEMBER", "false".to_owned())];
    let scene = BenchEnvironment::set(Backend::Postgres, &["identity"], &off)?;
    let crowd = scene.sign_in(FEW)?;
    let (tables, select) = limits::ONE_SELECT;
    let scratch = scene.scratch(tables)?;
    let row = ResultRow::new(work, "PostgreSQL, one select by key", Goal::AtLeast(0.20));
    measure(row, scene, &crowd, None, options, |time| {
        limits::pgbench(&scratch, select, time)
    })
}

/// Measures a client that introspects tokens (RFC 7662), as a gateway does for each request.
pub(super) fn introspect(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = both(options, "introspect", |backend, work| {
        let scene = BenchEnvironment::set(backend, &["identity"], &[])?;
        let crowd = scene.sign_in(FEW)?;
        let responder = Responder::bare(size(&scene, &crowd)?, scene.folder())?;
        let row = ResultRow::new(work, "a bare actix-web responder", Goal::Told);
        measure(row, scene, &crowd, Some(CLIENT), options, |time| {
            responder.rate(&crowd.file, time)
        })
    })?;
    for (peer, goal) in [(&OIDC_PROVIDER, 6.0), (&GLEWLWYD, 20.0)] {
        if options.peers {
            rows.extend(introspect_beside(peer, goal, options)?);
        }
    }
    Ok(rows)
}

/// Measures the same beside a third-party program that gets the same requests.
fn introspect_beside(peer: &TokenPeer, goal: f64, options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let name = format!("introspect beside {}", peer.name);
    both(options, &name, |backend, work| {
        let mut server = peer.serve(FEW, 0)?;
        let scene = BenchEnvironment::set(backend, &["identity"], &[])?;
        let crowd = scene.sign_in(FEW)?;
        let row = ResultRow::new(work, peer.described, Goal::AtLeast(goal));
        measure(row, scene, &crowd, Some(CLIENT), options, |time| {
            Ok(server.introspections(time)?.ours)
        })
    })
}

/// Adds the rounds of a read to a row.
fn measure(
    mut row: ResultRow,
    mut scene: BenchEnvironment,
    crowd: &SignedIn,
    client: Option<&str>,
    options: &GoalOptions,
    limit: impl FnMut(Duration) -> Result<f64>,
) -> Result<ResultRow> {
    let process = scene.process("identity")?;
    let path = match client {
        Some(_) => {
            let path = "/api/oauth/introspect";
            all_active(scene.address("identity")?, path, &crowd.tokens)?;
            path
        }
        None => PATH,
    };
    let url = format!("{}{path}", scene.address("identity")?);
    let request = Request {
        url: &url,
        tokens: &crowd.file,
        client,
    };
    let ours = |time| asked(process, &request, time);
    row.samples = rounds(&row.work, options, ours, limit)?;
    row.rss_mb = Some(system::resident_mb(process)?);
    Ok(row)
}

/// Returns the size of a response in bytes.
fn size(scene: &BenchEnvironment, crowd: &SignedIn) -> Result<usize> {
    let token = crowd.tokens.last().map_or("", String::as_str);
    let answer = Client::new(scene.address("identity")?, token).text(PATH)?;
    Ok(answer.len())
}

/// Measures refreshing: each token once, then its successor.
pub(super) fn refresh(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = both(options, "refresh", |backend, work| {
        let row = ResultRow::new(work, "nothing; see --peers", Goal::Told);
        refresh_on(backend, row, None, options)
    })?;
    let peer = &OIDC_PROVIDER;
    if options.peers {
        let name = format!("refresh beside {}", peer.name);
        rows.extend(both(options, &name, |backend, work| {
            let row = ResultRow::new(work, peer.described, Goal::AtLeast(2.5));
            let server = peer.serve(0, REFRESHES)?;
            refresh_on(backend, row, Some(server), options)
        })?);
    }
    Ok(rows)
}

/// Adds the rounds of refreshing to a row, in turns with the peer's.
fn refresh_on(
    backend: Backend,
    mut row: ResultRow,
    mut peer: Option<TokenServer>,
    options: &GoalOptions,
) -> Result<ResultRow> {
    let mut scene = BenchEnvironment::set(backend, &["identity"], &[])?;
    let mut tokens = scene.sign_in(REFRESHES)?.refresh_tokens;
    let process = scene.process("identity")?;
    let words = RefreshRequestShape {
        path: "/api/auth/refresh",
        headers: String::new(),
        body: |token| json!({ "refresh_token": token }).to_string(),
    };
    let ours = |_| refreshed(process, scene.address("identity")?, &words, &mut tokens);
    let limit = |_| match &mut peer {
        Some(peer) => Ok(peer.refreshes()?.ours),
        None => Ok(f64::NAN),
    };
    row.samples = rounds(&row.work, options, ours, limit)?;
    row.rss_mb = Some(system::resident_mb(process)?);
    Ok(row)
}
