//! Open-loop load: request number i is due at its time, whether or not earlier requests are answered, and its latency counts
//! from then.

use super::percentile::per_mille;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use xtask_fixtures::http::Client;
use xtask_fixtures::lock;
use xtask_kit::cmd::{Result, fail};

/// Enough senders that one is free until responses take a third of a second.
const SENDERS: usize = 64;

/// A request to be sent.
pub(super) struct LoadRequest {
    pub(super) token: String,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) body: String,
}

impl LoadRequest {
    pub(super) fn get(token: &str, path: &'static str) -> Self {
        Self {
            token: token.to_owned(),
            method: "GET",
            path,
            body: String::new(),
        }
    }

    pub(super) fn post(token: &str, path: &'static str, body: String) -> Self {
        Self {
            token: token.to_owned(),
            method: "POST",
            path,
            body,
        }
    }
}

/// The result of a load.
pub(super) struct LoadResult {
    /// Milliseconds from when each request was due until its response, sorted.
    pub(super) latencies: Vec<f64>,
    /// How often each status was returned; 0 stands for no response.
    pub(super) statuses: BTreeMap<u16, usize>,
    /// The bodies of the responses, in no order.
    pub(super) bodies: Vec<String>,
    /// The time of the whole load.
    pub(super) time: Duration,
}

impl LoadResult {
    /// Returns the number of responses with this status.
    pub(super) fn with_status(&self, status: u16) -> usize {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Returns median, 99th percentile and maximum.
    pub(super) fn summary(&self) -> (f64, f64, f64) {
        let at = |thousandths| per_mille(&self.latencies, thousandths);
        (at(500), at(990), at(1000))
    }
}

/// Sends the shots over this many connections, each as soon as the one before it is answered.
pub(super) fn drain(
    address: &str,
    shots: Vec<LoadRequest>,
    connections: usize,
) -> Result<LoadResult> {
    drain_with("", address, shots, connections)
}

/// Like [`drain`], with more header lines in each request, each ending in `\r\n`.
pub(super) fn drain_with(
    headers: &str,
    address: &str,
    shots: Vec<LoadRequest>,
    connections: usize,
) -> Result<LoadResult> {
    send_all(headers, address, shots, connections, Instant::now)
}

/// Sends the shots to `address`, one every `gap`.
pub(super) fn fire(address: &str, shots: Vec<LoadRequest>, gap: Duration) -> Result<LoadResult> {
    let next = Mutex::new(Instant::now());
    let due = || {
        let mut next = lock(&next);
        let due = *next;
        *next += gap;
        due
    };
    send_all("", address, shots, SENDERS, due)
}

/// Runs `work` on this many threads, each with its number, and returns the results.
pub(super) fn at_once<T: Send>(
    threads: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads = (0..threads).map(|n| scope.spawn(move || work(n)));
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => fail("a benchmark thread panicked"),
        });
        results.collect()
    })
}

/// Sends one shot after the other over each connection, each as soon as it is due.
fn send_all(
    headers: &str,
    address: &str,
    shots: Vec<LoadRequest>,
    connections: usize,
    due: impl Fn() -> Instant + Sync,
) -> Result<LoadResult> {
    let started = Instant::now();
    let shots = Mutex::new(shots.into_iter());
    let next = || {
        let mut shots = lock(&shots);
        Some((shots.next()?, due()))
    };
    let answered = at_once(connections, |_| {
        let (mut client, mut answered) = (Client::new(address, ""), Vec::new());
        while let Some((shot, due)) = next() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            client.use_token(&shot.token);
            let answer = client.send_with(shot.method, shot.path, headers, &shot.body);
            let (status, body) = answer.unwrap_or_default();
            answered.push((status, body, due.elapsed().as_secs_f64() * 1000.0));
        }
        Ok(answered)
    })?;
    let mut outcome = LoadResult {
        latencies: Vec::new(),
        statuses: BTreeMap::new(),
        bodies: Vec::new(),
        time: started.elapsed(),
    };
    for (status, body, latency) in answered.into_iter().flatten() {
        outcome.latencies.push(latency);
        outcome.bodies.push(body);
        *outcome.statuses.entry(status).or_default() += 1;
    }
    outcome.latencies.sort_by(f64::total_cmp);
    Ok(outcome)
}
