//! The database work of requests: statements, as the services count them, and flushes, as PostgreSQL counts them.

use super::measurement::{BACKENDS, Backend, GoalOptions, told};
use super::worksession::{planned, starts};
use crate::environment::BenchEnvironment;
use crate::load;
use crate::results_table::{Goal, ResultRow, Sample, Unit};
use serde_json::json;
use std::time::{Duration, Instant};
use xtask_fixtures::http::Client;
use xtask_fixtures::servers::Postgres;
use xtask_kit::cmd::{Result, fail, nap};

const PARTS: [&str; 2] = ["identity", "worksession"];
/// Requests of each kind, each by another user.
const REQUESTS: usize = 40;
/// Users who start concurrently, each once, and the connections that they share.
const TOGETHER: usize = 1_000;
const CONNECTIONS: usize = 32;
/// The time after which PostgreSQL has counted what its processes did.
const TOLD: Duration = Duration::from_secs(15);
/// The time after which the change feed is alive and the service caches.
const HEARD: Duration = Duration::from_secs(1);

/// A kind of request: the name in its row, its route, and the most statements that it may need, `BEGIN` and `COMMIT` included,
/// on PostgreSQL and on SQLite.
type Kind = (&'static str, &'static str, [f64; 2]);

const VALIDATE: Kind = ("validate", "/api/auth/validate", [0.0, 0.0]);
const REFRESH: Kind = ("refresh", "/api/auth/refresh", [1.0, 3.0]);
/// A user's first start also creates the row with the user's change number.
const FIRST_START: Kind = ("a user's first timer start", START.1, [2.0, 7.0]);
const START: Kind = ("timer start", "/api/clienta_timer_start", [1.0, 7.0]);
/// A first session earns a badge, and one that was moved back is flagged. On SQLite two statements create and fill the table
/// from which the others take their values; fewer statements would save no round trip there.
const SUBMIT: Kind = ("submit", "/api/pomodoro/submit", [3.0, 17.0]);
const USER_DATA: Kind = ("user/data", "/api/user/data", [2.0, 2.0]);

pub(super) fn queries(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for (n, backend) in BACKENDS.into_iter().enumerate() {
        let scene = BenchEnvironment::set(backend, &PARTS, &[])?;
        let crowd = scene.sign_in(REQUESTS)?;
        let read = |(_, route, _): Kind| -> Result {
            for token in &crowd.tokens {
                Client::new(address(&scene, route)?, token).text(route)?;
            }
            Ok(())
        };
        read(VALIDATE)?;
        nap(HEARD)?;
        let mut count = |(name, route, most): Kind, work: &dyn Fn() -> Result| -> Result {
            let work_name = format!("statements, {name}, {}", backend.name());
            let before = statements(&scene, route)?;
            work()?;
            let each = (statements(&scene, route)? - before) / f64::from(u32::try_from(REQUESTS)?);
            let most = most.get(n).copied().unwrap_or_default();
            let against = "of one request, counted by the service";
            rows.push(row(work_name, each, most, against));
            Ok(())
        };
        // The first reading fills the cache for the second one.
        read(VALIDATE)?;
        count(VALIDATE, &|| read(VALIDATE))?;
        count(REFRESH, &|| {
            for token in &crowd.refresh_tokens {
                let body = json!({ "refresh_token": token });
                Client::new(address(&scene, REFRESH.1)?, "").call("POST", REFRESH.1, &body)?;
            }
            Ok(())
        })?;
        for kind in [FIRST_START, START] {
            count(kind, &|| {
                let shots = starts(crowd.tokens.iter(), kind.0);
                let outcome = load::drain(scene.address("worksession")?, shots, 1)?;
                told(&outcome, 201).map(drop)
            })?;
            scene.wait_told()?;
            scene.end_running()?;
        }
        let submits = planned(&scene, &crowd.tokens, 4)?;
        let submits = std::cell::RefCell::new(Some(submits));
        count(SUBMIT, &|| {
            let submits = submits.take().unwrap_or_default();
            let outcome = load::drain(scene.address("worksession")?, submits, 1)?;
            told(&outcome, 200).map(drop)
        })?;
        count(USER_DATA, &|| read(USER_DATA))?;
    }
    rows.extend(flushes()?);
    rows.retain(|row| options.wants(&row.work));
    Ok(rows)
}

fn row(work: String, each: f64, most: f64, against: &'static str) -> ResultRow {
    println!("{work}: {each:.2}");
    ResultRow {
        unit: Unit::Statements,
        samples: vec![Sample::new(each, f64::NAN)],
        ..ResultRow::new(work, against, Goal::AtMost(most))
    }
}

/// Returns the address of the service that has a route.
fn address<'a>(scene: &'a BenchEnvironment, route: &str) -> Result<&'a str> {
    scene.address(match route.starts_with("/api/auth/") {
        true => "identity",
        false => "worksession",
    })
}

/// Returns the number of statements that requests of this route, which has one method, have needed so far.
fn statements(scene: &BenchEnvironment, route: &str) -> Result<f64> {
    let text = Client::new(address(scene, route)?, "").text("/metrics")?;
    let counters = text
        .lines()
        .filter(|line| line.starts_with("http_request_statements_total{"));
    let named = format!(",route=\"{route}\"}} ");
    let figure = counters.filter_map(|line| line.split_once(&named)).next();
    Ok(figure.map_or(Ok(0.0), |(_, figure)| figure.parse())?)
}

/// Measures the WAL flushes of a request while no relay writes: alone, and when requests can share a flush.
fn flushes() -> Result<Vec<ResultRow>> {
    let mut scene = BenchEnvironment::set(Backend::Postgres, &PARTS, &[])?;
    let tokens = scene.sign_in(TOGETHER)?.tokens;
    let few = tokens.get(..REQUESTS).unwrap_or_default();
    scene.broker()?.kill();
    let address = scene.address("worksession")?;
    let alone = starts(few.iter(), "flushed");
    let alone = flushed(&scene, REQUESTS, || {
        told(&load::drain(address, alone, 1)?, 201)
    })?;
    scene.end_running()?;
    let submits = planned(&scene, few, 4)?;
    let submit = flushed(&scene, REQUESTS, || {
        told(&load::drain(address, submits, 1)?, 200)
    })?;
    scene.end_running()?;
    let together = starts(tokens.iter(), "flushed together");
    let together = flushed(&scene, TOGETHER, || {
        told(&load::drain(address, together, CONNECTIONS)?, 201)
    })?;
    let together_work = format!("{CONNECTIONS} starts at a time");
    let of_start = "of one start, of the whole server";
    let of_submit = "of one submit, of the whole server";
    let rows = [
        ("timer start", alone, of_start),
        ("submit", submit, of_submit),
        (together_work.as_str(), together, of_start),
    ];
    let rows = rows.map(|(work, each, against)| {
        // Sometimes the server itself has something to write.
        row(format!("flushes, {work}, PostgreSQL"), each, 1.2, against)
    });
    Ok(rows.into())
}

/// Returns the flushes of each request.
fn flushed(
    scene: &BenchEnvironment,
    requests: usize,
    work: impl FnOnce() -> Result<Sample>,
) -> Result<f64> {
    let requests = f64::from(u32::try_from(requests)?);
    let before = at_rest(scene)?;
    work()?;
    let mut after = wal_syncs(scene)?;
    // A process reports its statistics at most ten seconds after its last work.
    let since = Instant::now();
    while after - before < requests && since.elapsed() < TOLD {
        after = wal_syncs(scene)?;
    }
    Ok((after - before) / requests)
}

/// Returns the flushes so far, once all processes have reported theirs.
fn at_rest(scene: &BenchEnvironment) -> Result<f64> {
    let (begun, mut since) = (Instant::now(), Instant::now());
    let mut told = wal_syncs(scene)?;
    // Sometimes the server itself has something to write.
    while since.elapsed() < TOLD && begun.elapsed() < TOLD * 4 {
        let now = wal_syncs(scene)?;
        if now > told {
            (told, since) = (now, Instant::now());
        }
    }
    Ok(told)
}

fn wal_syncs(scene: &BenchEnvironment) -> Result<f64> {
    let database = scene.database("worksession")?;
    // A session reports its statistics within a second.
    nap(HEARD * 2)?;
    let rows = Postgres::rows(database, "SELECT wal_sync FROM pg_stat_wal")?;
    match rows.first().and_then(|row| row.first()) {
        Some(figure) => Ok(figure.parse()?),
        None => fail("PostgreSQL does not count its flushes"),
    }
}
