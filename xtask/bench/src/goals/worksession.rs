//! Measures starts and submits, and what clients read of them.

use super::limits::{self, Responder};
use super::measurement::{Backend, GoalOptions, asked, both, rounds, told, written};
use super::statements;
use crate::environment::BenchEnvironment;
use crate::load::{self, LoadRequest};
use crate::results_table::{Goal, ResultRow, Sample};
use crate::wrk::Request;
use serde_json::json;
use std::time::Duration;
use xtask_fixtures::http::Client;
use xtask_kit::cmd::Result;
use xtask_kit::system;

const PARTS: [&str; 2] = ["identity", "worksession"];
/// Users who read.
const READERS: usize = 1_000;
/// Users who start, each once in a round. No timer is running then, as at nine in the morning.
const STARTERS: usize = 8_000;
/// Users who submit, and the sessions of each in a round.
const SUBMITTERS: usize = 1_000;
const BATCHES: usize = 4;
/// Connections of starts and submits.
const CONNECTIONS: usize = 32;
/// Minutes between the starts of a user's sessions, which must not overlap.
const SLOT: i64 = 30;
const PLANNED: i64 = 25;

pub(super) fn check(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for (remember_ms, goal) in [(1_000, 0.50), (0, 0.15)] {
        let work = format!("check of a token, REMEMBER_MS {remember_ms}");
        if options.wants(&work) {
            let settings = [("WORKSESSION__AUTH__REMEMBER_MS", remember_ms.to_string())];
            // The leaderboard is cached for seconds, so that only the token check is left.
            let path = "/api/leaderboard?period=week";
            let goal = Goal::AtLeast(goal);
            rows.push(read(
                work,
                path,
                Backend::Postgres,
                &settings,
                goal,
                options,
            )?);
        }
    }
    Ok(rows)
}

/// Switches caches off, as if each token were new: the cost with more users than the caches hold.
const FORGETFUL: (&str, &str) = ("IDENTITY__TOKENS__REMEMBER", "false");

pub(super) fn user_data(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let path = "/api/user/data";
    let mut rows = both(options, "user/data", |backend, work| {
        read(work, path, backend, &[], Goal::AtLeast(0.12), options)
    })?;
    let work = "user/data, PostgreSQL, no token remembered".to_owned();
    if options.wants(&work) {
        let settings = [(FORGETFUL.0, FORGETFUL.1.to_owned())];
        let (backend, goal) = (Backend::Postgres, Goal::Told);
        rows.push(read(work, path, backend, &settings, goal, options)?);
    }
    Ok(rows)
}

/// Measures a path of worksession-service that many users read.
fn read(
    work: String,
    path: &str,
    backend: Backend,
    settings: &[(&str, String)],
    goal: Goal,
    options: &GoalOptions,
) -> Result<ResultRow> {
    let mut scene = BenchEnvironment::set(backend, &PARTS, settings)?;
    let crowd = scene.sign_in(READERS)?;
    let address = scene.address("worksession")?;
    let token = crowd.tokens.first().map_or("", String::as_str);
    let body = Client::new(address, token).text(path)?;
    let responder = Responder::bare(body.len(), scene.folder())?;
    let url = format!("{address}{path}");
    let process = scene.process("worksession")?;
    let request = Request::new(&url, &crowd.file);
    let samples = rounds(
        &work,
        options,
        |time| asked(process, &request, time),
        |time| responder.rate(&crowd.file, time),
    )?;
    show_statements(&scene, options)?;
    Ok(ResultRow {
        samples,
        rss_mb: Some(system::resident_mb(process)?),
        ..ResultRow::new(work, "a bare actix-web responder", goal)
    })
}

pub(super) fn start(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = both(options, "timer start", |backend, work| {
        start_on(backend, work, With::Everything, options)
    })?;
    for (with, how) in [
        (With::NoBroker, "the broker dead"),
        (With::NoMemory, "no token remembered"),
    ] {
        let work = format!("timer start, PostgreSQL, {how}");
        if options.wants(&work) {
            rows.push(start_on(Backend::Postgres, work, with, options)?);
        }
    }
    Ok(rows)
}

/// What is available when timers start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Everything,
    NoBroker,
    /// No caches, see [`FORGETFUL`].
    NoMemory,
}

fn start_on(
    backend: Backend,
    work: String,
    with: With,
    options: &GoalOptions,
) -> Result<ResultRow> {
    let settings = [(FORGETFUL.0, FORGETFUL.1.to_owned())];
    let settings: &[_] = match with {
        With::NoMemory => &settings,
        With::Everything | With::NoBroker => &[],
    };
    let mut scene = BenchEnvironment::set(backend, &PARTS, settings)?;
    let with_broker = with != With::NoBroker;
    let tokens = scene.sign_in(STARTERS)?.tokens;
    let limit = Writes::prepare(backend, &scene, limits::TWO_INSERTS, "two_inserts")?;
    let process = scene.process("worksession")?;
    if !with_broker {
        scene.broker()?.kill();
    }
    let address = scene.address("worksession")?;
    let clear = || {
        if with_broker {
            scene.wait_told()?;
        }
        scene.end_running()
    };
    let mut noted = 0;
    let mut shots = |count: usize| {
        noted += count;
        starts(tokens.iter().take(count), &format!("plan {noted}"))
    };
    load::drain(address, shots(STARTERS), CONNECTIONS)?;
    clear()?;
    let samples = rounds(
        &work,
        options,
        |_| {
            let (fastest, _) = written(process, 201, || {
                load::drain(address, shots(STARTERS), CONNECTIONS)
            })?;
            clear()?;
            // The latency of a start is measured at a rate that the service can sustain.
            let gap = Duration::from_secs_f64(1.0 / (fastest.ours * 0.8));
            let steady = told(&load::fire(address, shots(STARTERS), gap)?, 201)?;
            clear()?;
            Ok(Sample {
                p50_ms: steady.p50_ms,
                p99_ms: steady.p99_ms,
                ..fastest
            })
        },
        |time| limit.rate(time),
    )?;
    show_statements(&scene, options)?;
    let (goal, p99_goal) = match with {
        With::NoMemory => (Goal::Told, None),
        With::Everything | With::NoBroker => (Goal::AtLeast(0.50), Some(20.0)),
    };
    Ok(ResultRow {
        p99_goal,
        samples,
        rss_mb: Some(system::resident_mb(process)?),
        ..ResultRow::new(work, "two inserts in a transaction", goal)
    })
}

/// Returns a start for each token.
pub(super) fn starts<'a>(tokens: impl Iterator<Item = &'a String>, note: &str) -> Vec<LoadRequest> {
    let plan =
        json!({"category": "coding", "duration": PLANNED, "project_id": "none", "note": note});
    let shot =
        |token: &String| LoadRequest::post(token, "/api/clienta_timer_start", plan.to_string());
    tokens.map(shot).collect()
}

pub(super) fn submit(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    both(options, "submit", |backend, work| {
        submit_on(backend, work, options)
    })
}

fn submit_on(backend: Backend, work: String, options: &GoalOptions) -> Result<ResultRow> {
    let mut scene = BenchEnvironment::set(backend, &PARTS, &[])?;
    let tokens = scene.sign_in(SUBMITTERS)?.tokens;
    let limit = Writes::prepare(backend, &scene, limits::EIGHT_UPSERTS, "eight_upserts")?;
    let process = scene.process("worksession")?;
    let address = scene.address("worksession")?;
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
            let (sample, _) = written(process, 200, || load::drain(address, shots, CONNECTIONS))?;
            scene.wait_told()?;
            Ok(sample)
        },
        |time| limit.rate(time),
    )?;
    show_statements(&scene, options)?;
    Ok(ResultRow {
        samples,
        rss_mb: Some(system::resident_mb(process)?),
        ..ResultRow::new(work, "eight upserts in a transaction", Goal::AtLeast(0.40))
    })
}

fn show_statements(scene: &BenchEnvironment, options: &GoalOptions) -> Result {
    match scene.database("worksession") {
        Ok(database) if options.statements => statements::show(database),
        _ => Ok(()),
    }
}

/// Creates a past session for each user, which began `slot` half hours ago, and returns its submit. It is started as usual
/// and then moved back in time.
pub(super) fn planned(
    scene: &BenchEnvironment,
    tokens: &[String],
    slot: i64,
) -> Result<Vec<LoadRequest>> {
    let starts = starts(tokens.iter(), &format!("slot {slot}"));
    told(
        &load::drain(scene.address("worksession")?, starts, CONNECTIONS)?,
        201,
    )?;
    let (start, end) = scene.move_back(slot * SLOT, PLANNED)?;
    let done = json!({
        "category": "coding", "project_id": "none", "duration": PLANNED, "note": "done",
        "start_time": start, "end_time": end,
    });
    let submit =
        |token: &String| LoadRequest::post(token, "/api/pomodoro/submit", done.to_string());
    Ok(tokens.iter().map(submit).collect())
}

/// The same writes without the product.
enum Writes {
    Postgres(String, &'static str),
    Sqlite(&'static str),
}

impl Writes {
    fn prepare(
        backend: Backend,
        scene: &BenchEnvironment,
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
