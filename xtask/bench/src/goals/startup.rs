//! Measures start-up with existing data, from exec to ready.

use super::measurement::GoalOptions;
use super::peers::{GLEWLWYD, Peer, wait_ready};
use crate::results_table::{Goal, ResultRow, Sample, Unit};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::servers::{PrivateRabbit, free_port};
use xtask_kit::cmd::Result;
use xtask_kit::system::{self, PARTS, Program};

/// The programs: the name in the row, the parts that listen, and the goal in milliseconds.
const PROGRAMS: [(&str, &[&str], f64); 4] = [
    ("identity-service", &["identity"], 30.0),
    ("worksession-service", &["worksession"], 30.0),
    ("notifier", &["notifier"], 30.0),
    ("holdfast", &PARTS, 60.0),
];
/// How many more starts than rounds are measured: a start takes a hundredth of a second, and its median needs more of them.
const TIMES: usize = 3;

pub(super) fn startup(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let rows = PROGRAMS.map(|program| (format!("start, {}", program.0), program));
    let wanted: Vec<_> = rows
        .into_iter()
        .filter(|(work, _)| options.wants(work))
        .collect();
    let asked = options.peers && !wanted.is_empty();
    let peer = asked.then(|| (GLEWLWYD.prepare)(0, 0));
    let peer = peer.transpose()?;
    let against = match peer {
        Some(_) => "glewlwyd; from exec to ready, with data of before, on SQLite",
        None => "from exec to ready, with data of before, on SQLite",
    };
    let mut rows = Vec::new();
    for (work, (program, parts, goal_ms)) in wanted {
        rows.push(ResultRow {
            samples: starts(program, parts, options.rounds * TIMES, peer.as_ref())?,
            unit: Unit::Milliseconds,
            ..ResultRow::new(work, against, Goal::AtMost(goal_ms))
        });
    }
    Ok(rows)
}

/// Measures starts of a program, in turns with the peer's.
fn starts(program: &str, parts: &[&str], times: usize, peer: Option<&Peer>) -> Result<Vec<Sample>> {
    let rabbit = broker_of(program)?;
    let folder = fresh_folder("holdfast-bench-")?;
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    // The first start creates the data that the measured ones find.
    let mut first = serve(program, &data, rabbit.as_ref());
    if program == "holdfast" {
        first.arg("--demo");
    }
    drop(Program::start(&mut first, parts, &log)?);
    let mut samples = Vec::new();
    for _ in 0..times {
        let mut command = serve(program, &data, rabbit.as_ref());
        let mut ports = Vec::new();
        for part in parts {
            let port = free_port()?;
            command.env(system::key(part, "LISTEN"), format!("127.0.0.1:{port}"));
            ports.push(port);
        }
        let started = Instant::now();
        let mut program = Program::spawn(&mut command, &log)?;
        for port in ports {
            wait_ready(port, "/health/ready", started)?;
        }
        let ms = started.elapsed().as_secs_f64() * 1000.0;
        // As in a crash: the next start finds what this one left.
        program.process().signal("KILL");
        drop(program);
        let beside = peer.map(Peer::start_and_end).transpose()?;
        samples.push(Sample::new(ms, beside.unwrap_or(f64::NAN)));
    }
    Ok(samples)
}

/// Returns the broker that a program needs. All parts in one process need none.
pub(super) fn broker_of(program: &str) -> Result<Option<PrivateRabbit>> {
    match program {
        "holdfast" => Ok(None),
        _ => PrivateRabbit::installed().map(Some),
    }
}

/// Returns a program on this data folder and on free ports.
pub(super) fn serve(program: &str, data: &Path, rabbit: Option<&PrivateRabbit>) -> Command {
    let mut command = system::serve(true, program, data);
    for part in PARTS {
        if let Some(rabbit) = rabbit {
            command.env(system::key(part, "BROKER__URL"), &rabbit.url);
        }
    }
    command
}
