//! Measures the resident memory of the programs, idle and after load.

use super::measurement::{Backend, GoalOptions};
use super::peers::{GLEWLWYD, REST, Resident};
use super::startup;
use crate::environment::BenchEnvironment;
use crate::results_table::{Goal, ResultRow, Sample, Unit};
use crate::wrk::{self, Request};
use std::time::Duration;
use xtask_fixtures::fresh_folder;
use xtask_kit::cmd::{Result, nap};
use xtask_kit::system::{self, PARTS, Program};

/// The goals in megabytes (10^6 bytes), of a service and of all of them in one process.
const IDLE: f64 = 28.0;
pub(super) const BUSY: f64 = 36.0;
const STANDALONE_IDLE: f64 = 48.0;
const USERS: usize = 1_000;

pub(super) fn memory(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let peer = options.peers.then(|| GLEWLWYD.resident(options));
    let peer = peer.transpose()?;
    let mut rows = services(options, peer)?;
    rows.push(alone("notifier", &["notifier"], IDLE, peer)?);
    rows.push(alone("holdfast", &PARTS, STANDALONE_IDLE, peer)?);
    Ok(rows)
}

/// Returns a row with the memory of a program and that of the peer in the same state.
pub(super) fn row(work: String, goal: f64, mb: f64, peer: Option<f64>) -> ResultRow {
    println!("{work}: {mb:.1} MB");
    let against = match peer {
        Some(_) => "glewlwyd; resident, its program's pages included",
        None => "resident, its program's pages included",
    };
    ResultRow {
        unit: Unit::Megabytes,
        samples: vec![Sample::new(mb, peer.unwrap_or(f64::NAN))],
        ..ResultRow::new(work, against, Goal::AtMost(goal))
    }
}

/// Measures the two services on PostgreSQL, before and after a thousand users have read as fast as they could.
fn services(options: &GoalOptions, peer: Option<Resident>) -> Result<Vec<ResultRow>> {
    let parts = [
        ("identity", "/api/auth/validate"),
        ("worksession", "/api/user/data"),
    ];
    let mut scene = BenchEnvironment::set(Backend::Postgres, &parts.map(|(part, _)| part), &[])?;
    nap(REST)?;
    let mut rows = Vec::new();
    for (part, _) in parts {
        let mb = system::resident_mb(scene.process(part)?)?;
        let work = format!("memory, {part}-service, idle");
        rows.push(row(work, IDLE, mb, peer.map(|peer| peer.idle)));
    }
    let crowd = scene.sign_in(USERS)?;
    for (part, path) in parts {
        let url = format!("{}{path}", scene.address(part)?);
        let request = Request::new(&url, &crowd.file);
        wrk::ask(&request, Duration::from_secs(options.seconds))?;
        let mb = system::resident_mb(scene.process(part)?)?;
        let work = format!("memory, {part}-service, after load");
        rows.push(row(work, BUSY, mb, peer.map(|peer| peer.busy)));
    }
    Ok(rows)
}

/// Measures a program alone, on SQLite.
fn alone(program: &str, parts: &[&str], goal: f64, peer: Option<Resident>) -> Result<ResultRow> {
    let folder = fresh_folder("holdfast-bench-")?;
    let rabbit = startup::broker_of(program)?;
    let mut command = startup::serve(program, &folder.path().join("data"), rabbit.as_ref());
    let mut running = Program::start(&mut command, parts, &folder.path().join("log"))?;
    nap(REST)?;
    let mb = system::resident_mb(running.process().id())?;
    let work = format!("memory, {program}, idle");
    Ok(row(work, goal, mb, peer.map(|peer| peer.idle)))
}
