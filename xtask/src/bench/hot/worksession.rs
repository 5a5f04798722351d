//! From the plan to the points, and what a client shows of them.

use super::limits::{self, Responder};
use super::scene::Scene;
use super::{Backend, Options, asked, rounds};
use crate::bench::http::Client;
use crate::bench::load::{self, Outcome, Shot};
use crate::bench::table::{Row, Sample};
use crate::cmd::{Result, fail};
use crate::system;
use serde_json::json;
use std::time::Duration;

const PARTS: [&str; 2] = ["identity", "worksession"];
const USERS: usize = 1_000;
/// Connections over which starts and submits come.
const CONNECTIONS: usize = 32;
/// Starts, or submits, that everybody makes in a round.
const BATCHES: usize = 4;
/// Minutes between the sessions of one user: no two of them may overlap.
const SLOT: i64 = 30;
const PLANNED: i64 = 25;

pub(super) fn check(remember_ms: u32, options: &Options) -> Result<Row> {
    let work = format!("check of a token, REMEMBER_MS {remember_ms}");
    let settings = [("WORKSESSION__AUTH__REMEMBER_MS", remember_ms.to_string())];
    // The board is remembered for seconds: what is left is whose token it is.
    let path = "/api/leaderboard?period=week";
    let goal = if remember_ms > 0 { 0.50 } else { 0.20 };
    read(work, path, Backend::Postgres, &settings, goal, options)
}

pub(super) fn user_data(backend: Backend, options: &Options) -> Result<Row> {
    let work = format!("user/data, {}", backend.name());
    read(work, "/api/user/data", backend, &[], 0.15, options)
}

/// A path of worksession-service, read by many.
fn read(
    work: String,
    path: &str,
    backend: Backend,
    settings: &[(&str, String)],
    goal: f64,
    options: &Options,
) -> Result<Row> {
    let mut scene = Scene::set(backend, &PARTS, settings)?;
    let (tokens, file) = scene.sign_in(USERS)?;
    let address = scene.address("worksession")?;
    let token = tokens.first().map_or("", String::as_str);
    let (status, body) = Client::new(address, token).send("GET", path, "")?;
    if status != 200 {
        return fail(format!("{path}: {status} {body}"));
    }
    let responder = Responder::bare(body.len(), scene.folder())?;
    let url = format!("{address}{path}");
    let process = scene.process("worksession")?;
    let samples = rounds(
        &work,
        options,
        |time| asked(process, &url, &file, time),
        |time| responder.rate(&file, time),
    )?;
    Ok(Row {
        work,
        against: "a bare actix-web responder",
        goal,
        p99_goal: None,
        samples,
        rss_mb: system::resident_mb(process)?,
    })
}

pub(super) fn start(backend: Backend, options: &Options) -> Result<Row> {
    let work = format!("timer start, {}", backend.name());
    let mut scene = Scene::set(backend, &PARTS, &[])?;
    let (tokens, _) = scene.sign_in(USERS)?;
    let limit = Writes::prepare(backend, &scene, limits::TWO_INSERTS, "two_inserts")?;
    let (address, process) = (
        scene.address("worksession")?.to_owned(),
        scene.process("worksession")?,
    );
    let mut noted = 0;
    let mut shots = |count: usize| {
        let shots: Vec<Shot> = tokens
            .iter()
            .cycle()
            .take(count)
            .zip(noted..)
            .map(|(token, n)| Shot {
                token: token.clone(),
                path: "/api/clienta_timer_start",
                body: json!({"category": "coding", "duration": 25, "project_id": "none", "note": format!("plan {n}")})
                    .to_string(),
            })
            .collect();
        noted += count;
        shots
    };
    load::drain(&address, shots(USERS), CONNECTIONS)?;
    let samples = rounds(
        &work,
        options,
        |_| {
            let fastest = written(process, 201, || {
                load::drain(&address, shots(BATCHES * USERS), CONNECTIONS)
            })?;
            // The latency of a start is that at a rate which the service can hold.
            let rate = fastest.ours * 0.8;
            let gap = Duration::from_secs_f64(1.0 / rate);
            let steady = load::fire(&address, shots(BATCHES * USERS), gap)?;
            all_are(&steady, 201)?;
            scene.wait_told()?;
            let (p50_ms, p99_ms, _) = steady.summary();
            Ok(Sample {
                p50_ms,
                p99_ms,
                ..fastest
            })
        },
        |time| limit.rate(time),
    )?;
    Ok(Row {
        work,
        against: "two inserts in a transaction",
        goal: 0.60,
        p99_goal: Some(20.0),
        samples,
        rss_mb: system::resident_mb(process)?,
    })
}

pub(super) fn submit(backend: Backend, options: &Options) -> Result<Row> {
    let work = format!("submit, {}", backend.name());
    let mut scene = Scene::set(backend, &PARTS, &[])?;
    let (tokens, _) = scene.sign_in(USERS)?;
    let limit = Writes::prepare(backend, &scene, limits::EIGHT_UPSERTS, "eight_upserts")?;
    let (address, process) = (
        scene.address("worksession")?.to_owned(),
        scene.process("worksession")?,
    );
    let mut slot = 0;
    let samples = rounds(
        &work,
        options,
        |_| {
            let mut shots = Vec::new();
            for _ in 0..BATCHES {
                slot += 1;
                shots.extend(planned(&scene, &tokens, slot)?);
            }
            scene.wait_told()?;
            let sample = written(process, 200, || load::drain(&address, shots, CONNECTIONS))?;
            scene.wait_told()?;
            Ok(sample)
        },
        |time| limit.rate(time),
    )?;
    Ok(Row {
        work,
        against: "eight upserts in a transaction",
        goal: 0.50,
        p99_goal: None,
        samples,
        rss_mb: system::resident_mb(process)?,
    })
}

/// A session of everybody that has gone by, `slot` half hours ago, and its submit: started as anybody starts one, and
/// moved back in time.
fn planned(scene: &Scene, tokens: &[String], slot: i64) -> Result<Vec<Shot>> {
    let starts = tokens.iter().map(|token| Shot {
        token: token.clone(),
        path: "/api/clienta_timer_start",
        body: json!({"category": "coding", "duration": PLANNED, "project_id": "none", "note": format!("slot {slot}")})
            .to_string(),
    });
    let outcome = load::drain(scene.address("worksession")?, starts.collect(), CONNECTIONS)?;
    all_are(&outcome, 201)?;
    let (start, end) = scene.move_back(slot * SLOT, PLANNED)?;
    let submits = tokens.iter().map(|token| Shot {
        token: token.clone(),
        path: "/api/pomodoro/submit",
        body: json!({
            "category": "coding", "project_id": "none", "duration": PLANNED, "note": "done",
            "start_time": start, "end_time": end,
        })
        .to_string(),
    });
    Ok(submits.collect())
}

/// What a load came to, with what the process used for each.
fn written(process: u32, status: u16, load: impl FnOnce() -> Result<Outcome>) -> Result<Sample> {
    let before = system::cpu_time(process)?;
    let outcome = load()?;
    let used = system::cpu_time(process)? - before;
    all_are(&outcome, status)?;
    let count = f64::from(u32::try_from(outcome.latencies.len())?);
    let (p50_ms, p99_ms, _) = outcome.summary();
    Ok(Sample {
        ours: count / outcome.time.as_secs_f64(),
        limit: f64::NAN,
        p50_ms,
        p99_ms,
        cpu_us: used.as_secs_f64() * 1e6 / count,
    })
}

fn all_are(outcome: &Outcome, status: u16) -> Result {
    match outcome.with_status(status) {
        good if good == outcome.latencies.len() => Ok(()),
        _ => fail(format!("not all are {status}: {:?}", outcome.statuses)),
    }
}

/// The same writes without us.
enum Writes {
    Postgres(String, &'static str),
    Sqlite(&'static str),
}

impl Writes {
    fn prepare(
        backend: Backend,
        scene: &Scene,
        (tables, script): (&str, &'static str),
        work: &'static str,
    ) -> Result<Self> {
        match backend {
            Backend::Postgres => Ok(Self::Postgres(scene.scratch(tables)?, script)),
            Backend::Sqlite => Ok(Self::Sqlite(work)),
        }
    }

    fn rate(&self, time: Duration) -> Result<f64> {
        match self {
            Self::Postgres(database, script) => limits::pgbench(database, script, time),
            Self::Sqlite(work) => limits::sqlite(work, time),
        }
    }
}
