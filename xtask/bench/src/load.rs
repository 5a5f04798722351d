//! Open-loop load: request number i is due at its time whether or not the ones before it are
//! answered, and its latency counts from then.

use super::percentile::per_mille;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use xtask_kit::cmd::{Result, fail};
use xtask_stand::http::Client;

/// Enough that a request finds a free one until answers take a third of a second.
const SENDERS: usize = 64;

/// One request to be sent.
pub(super) struct Shot {
    pub(super) token: String,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) body: String,
}

/// What came of a load.
pub(super) struct Outcome {
    /// Milliseconds from due to answered, sorted.
    pub(super) latencies: Vec<f64>,
    /// How often each status was answered; 0 stands for no answer.
    pub(super) statuses: BTreeMap<u16, usize>,
    /// The answers' bodies, in no order.
    pub(super) bodies: Vec<String>,
    /// How long it took altogether.
    pub(super) time: Duration,
}

/// What came of one request: its status, its body, and the milliseconds since it was due.
type Answered = (u16, String, f64);

impl Outcome {
    /// Answered with this status.
    pub(super) fn with_status(&self, status: u16) -> usize {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Median, 99th percentile and maximum.
    pub(super) fn summary(&self) -> (f64, f64, f64) {
        let at = |thousandths| per_mille(&self.latencies, thousandths);
        (at(500), at(990), at(1000))
    }
}

/// Sends the shots over that many connections, each as soon as the one before it is answered.
pub(super) fn drain(address: &str, shots: Vec<Shot>, connections: usize) -> Result<Outcome> {
    drain_with("", address, shots, connections)
}

/// As [`drain`], with more header lines in each request, each ended by `\r\n`.
pub(super) fn drain_with(
    headers: &str,
    address: &str,
    shots: Vec<Shot>,
    connections: usize,
) -> Result<Outcome> {
    let shots = Mutex::new(shots.into_iter());
    let started = Instant::now();
    let sender = || {
        let (mut client, mut results) = (Client::new(address, ""), Vec::new());
        loop {
            let next = shots.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(shot) = next else {
                return results;
            };
            results.push(send(&mut client, Instant::now(), headers, &shot));
        }
    };
    let results = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..connections).map(|_| scope.spawn(sender)).collect();
        let joined = senders.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.collect::<Vec<_>>()
    });
    gather(results, started.elapsed())
}

/// Fires the shots at `address`, one every `gap`.
pub(super) fn fire(address: &str, shots: Vec<Shot>, gap: Duration) -> Result<Outcome> {
    let (due, queue) = mpsc::channel::<(Instant, Shot)>();
    let queue = Mutex::new(queue);
    let started = Instant::now();
    let results = std::thread::scope(|scope| {
        let sender = || {
            let mut client = Client::new(address, "");
            let mut results = Vec::new();
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((due, shot)) = next else {
                    return results;
                };
                results.push(send(&mut client, due, "", &shot));
            }
        };
        let senders: Vec<_> = (0..SENDERS).map(|_| scope.spawn(sender)).collect();
        let mut at = started;
        for shot in shots {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if due.send((at, shot)).is_err() {
                break;
            }
            at += gap;
        }
        drop(due);
        senders
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect::<Vec<_>>()
    });
    gather(results, started.elapsed())
}

fn send(client: &mut Client, due: Instant, headers: &str, shot: &Shot) -> Answered {
    client.use_token(&shot.token);
    let answer = client.send_with(shot.method, shot.path, headers, &shot.body);
    let (status, body) = answer.unwrap_or_default();
    (status, body, due.elapsed().as_secs_f64() * 1000.0)
}

fn gather(results: Vec<std::thread::Result<Vec<Answered>>>, time: Duration) -> Result<Outcome> {
    let mut outcome = Outcome {
        latencies: Vec::new(),
        statuses: BTreeMap::new(),
        bodies: Vec::new(),
        time,
    };
    for sender in results {
        let Ok(sender) = sender else {
            return fail("a sender failed");
        };
        for (status, body, latency) in sender {
            outcome.latencies.push(latency);
            outcome.bodies.push(body);
            *outcome.statuses.entry(status).or_default() += 1;
        }
    }
    outcome.latencies.sort_by(f64::total_cmp);
    Ok(outcome)
}

/// What each thread came to.
pub(crate) fn join<T>(
    threads: Vec<std::thread::ScopedJoinHandle<'_, Result<T>>>,
) -> Result<Vec<T>> {
    let results = threads.into_iter().map(|thread| match thread.join() {
        Ok(result) => result,
        Err(_) => fail("a thread of the bench failed"),
    });
    results.collect()
}
