//! TimeTagger, which stores the time records of one user in SQLite.

use super::{Peer, Running, source};
use crate::goals::measurement::{GoalOptions, written};
use crate::load::{self, LoadRequest, LoadResult};
use crate::results_table::{Goal, ResultRow, Sample};
use serde_json::{Value, json};
use std::process::Command;
use xtask_fixtures::fresh_folder_on_disk;
use xtask_fixtures::http::{Client, text};
use xtask_fixtures::third_party;
use xtask_kit::cmd::{Result, fail};

const NAME: &str = "TimeTagger";
const DESCRIBED: &str = "TimeTagger 26.1.3 on Python, SQLite";
const RECORDS_PATH: &str = "/timetagger/api/v2/records";
/// Records in a round, each in its own request.
const RECORDS: usize = 1_500;
const CONNECTIONS: usize = 32;
/// `{"method":"localhost"}` in base64, which signs in any client on this machine.
const FROM_HERE: &str = "eyJtZXRob2QiOiJsb2NhbGhvc3QifQ==";

pub(in crate::goals) fn rows(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let work = format!("record write, {NAME}");
    if !options.wants(&work) {
        return Ok(Vec::new());
    }
    let peer = prepare()?;
    // The first start creates the data that the measured one finds.
    peer.start_and_end()?;
    Ok(vec![record_writes(work, &peer, options)?])
}

fn prepare() -> Result<Peer> {
    let pins = source("timetagger").join("requirements.txt");
    let python = third_party::python_with("timetagger", &pins)?;
    let folder = fresh_folder_on_disk("peer-")?;
    let data = folder.path().join("data");
    let command = move |port: u16| {
        let mut command = Command::new(&python);
        command
            .args(["-m", "timetagger", "--log_level=warning"])
            .arg(format!("--bind=127.0.0.1:{port}"))
            .arg(format!("--datadir={}", data.display()));
        command
    };
    Ok(Peer {
        command: Box::new(command),
        ready: "/timetagger/status",
        folder,
    })
}

fn record_writes(work: String, peer: &Peer, options: &GoalOptions) -> Result<ResultRow> {
    let mut running = peer.start()?;
    let token = sign_in(&running)?;
    let mut row = ResultRow::new(work, DESCRIBED, Goal::Told);
    for round in 0..options.rounds {
        let sample = write_round(&mut running, &token, round)?;
        println!("{}, round {}: {:.0}/s", row.work, round + 1, sample.ours);
        row.samples.push(sample);
    }
    row.rss_mb = Some(running.resident_mb()?);
    Ok(row)
}

fn sign_in(running: &Running) -> Result<String> {
    let path = "/timetagger/api/v2/bootstrap_authentication";
    let mut client = Client::new(&running.address, "");
    let (status, answer) = client.send("POST", path, FROM_HERE)?;
    let told: Value = serde_json::from_str(&answer).unwrap_or_default();
    match text(&told, "/token") {
        "" => fail(format!("sign-in at {NAME} failed: {status} {answer}")),
        token => Ok(token.to_owned()),
    }
}

fn write_round(running: &mut Running, token: &str, round: usize) -> Result<Sample> {
    let shots = (round * RECORDS..(round + 1) * RECORDS).map(record);
    let headers = format!("authtoken: {token}\r\n");
    let (sample, outcome) = written(running.process(), 200, || {
        load::drain_with(&headers, &running.address, shots.collect(), CONNECTIONS)
    })?;
    check(&outcome)?;
    Ok(sample)
}

/// Returns a record of 25 minutes that begins half an hour after the one before it.
fn record(n: usize) -> LoadRequest {
    let start = 1_700_000_000 + n * 1800;
    let record = json!([{
        "key": format!("bench-{n:06}"), "t1": start, "t2": start + 1500, "mt": start, "st": 0.0,
        "ds": "coding #bench",
    }]);
    LoadRequest {
        token: String::new(),
        method: "PUT",
        path: RECORDS_PATH,
        body: record.to_string(),
    }
}

/// Checks each response for a rejected record, which is answered with 200, too.
fn check(outcome: &LoadResult) -> Result {
    for body in &outcome.bodies {
        let told: Value = serde_json::from_str(body).unwrap_or_default();
        let accepted = told.pointer("/accepted").and_then(Value::as_array);
        if accepted.is_none_or(Vec::is_empty) {
            return fail(format!("{NAME} rejected a record: {body}"));
        }
    }
    Ok(())
}
