//! Measures a flood of sign-ins. It should reach the hash rate of all cores, and clients that already have a token should
//! not notice it.

use super::measurement::{Backend, GoalOptions};
use crate::environment::BenchEnvironment;
use crate::load::at_once;
use crate::percentile::per_mille;
use crate::results_table::{Goal, ResultRow, Sample};
use serde_json::json;
use std::time::{Duration, Instant};
use xtask_fixtures::accounts::{PASSWORD, register};
use xtask_fixtures::http::Client;
use xtask_kit::cmd::{Result, fail, interrupted};
use xtask_kit::system;

/// The bcrypt costs of the passwords.
const COSTS: [u32; 2] = [10, 12];
/// Concurrent clients, each of which signs in again as soon as it is signed in.
const CLIENTS: usize = 64;
/// The accounts that they share.
const ACCOUNTS: usize = 16;
/// Connections over which tokens are validated during the flood.
const VALIDATORS: usize = 4;
/// Validations a second.
const VALIDATIONS: u32 = 100;
/// The factor by which a round is longer than one of other work: a hash takes a tenth of a second or more.
const LONGER: u32 = 3;

pub(super) fn login(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    for cost in COSTS {
        let work = format!("login, bcrypt {cost}");
        if options.wants(&work) {
            rows.push(measure(work, cost, cores, options)?);
        }
    }
    Ok(rows)
}

fn measure(work: String, cost: u32, cores: usize, options: &GoalOptions) -> Result<ResultRow> {
    let setting = [("IDENTITY__PASSWORD__BCRYPT_COST", cost.to_string())];
    let mut scene = BenchEnvironment::set(Backend::Sqlite, &["identity"], &setting)?;
    let process = scene.process("identity")?;
    let address = scene.address("identity")?;
    let mut tokens = Vec::new();
    for n in 0..ACCOUNTS {
        tokens.push(register(address, &name(n))?);
    }
    let time = Duration::from_secs(options.seconds) * LONGER;
    let mut samples = Vec::new();
    for round in 1..=options.rounds {
        let before = hash_on_all(cost, cores, time / 4)?;
        let (rate, mut latencies) = flood(address, &tokens, time)?;
        // The speed of the machine varies, so it is measured before and after.
        let limit = (before + hash_on_all(cost, cores, time / 4)?) / 2.0;
        println!("{work}, round {round}: {rate:.2} logins/s of {limit:.2} hashes/s");
        latencies.sort_by(f64::total_cmp);
        samples.push(Sample {
            p50_ms: per_mille(&latencies, 500),
            p99_ms: per_mille(&latencies, 990),
            ..Sample::new(rate, limit)
        });
    }
    Ok(ResultRow {
        p99_goal: Some(25.0),
        samples,
        rss_mb: Some(system::resident_mb(process)?),
        ..ResultRow::new(
            work,
            "hashes on all cores; times of validations meanwhile",
            Goal::AtLeast(0.95),
        )
    })
}

fn name(n: usize) -> String {
    format!("bench-user-{n}")
}

/// Returns the hashes a second of all cores, which no service can exceed.
fn hash_on_all(cost: u32, cores: usize, time: Duration) -> Result<f64> {
    let rates = at_once(cores, |_| {
        let begun = Instant::now();
        let mut hashes = 0.0;
        while begun.elapsed() < time && !interrupted() {
            bcrypt::hash(PASSWORD, cost)?;
            hashes += 1.0;
        }
        Ok(hashes / begun.elapsed().as_secs_f64())
    })?;
    Ok(rates.into_iter().sum())
}

/// Returns the sign-ins a second, and the latencies of validations during them.
fn flood(address: &str, tokens: &[String], time: Duration) -> Result<(f64, Vec<f64>)> {
    // The queue fills first, and the flood lasts longer than the time that counts.
    let from = Instant::now() + Duration::from_secs(2);
    let until = from + time;
    let client = |n: usize| -> Result<Vec<Instant>> {
        let mut client = Client::new(address, "");
        let login = json!({ "username": name(n % ACCOUNTS), "password": PASSWORD });
        let mut done = Vec::new();
        while Instant::now() < until && !interrupted() {
            client.call("POST", "/api/auth/login", &login)?;
            done.push(Instant::now());
        }
        Ok(done)
    };
    let (done, latencies) = std::thread::scope(|scope| {
        let clients = scope.spawn(|| at_once(CLIENTS, client));
        std::thread::sleep(from.saturating_duration_since(Instant::now()));
        let latencies = validate(address, tokens, time);
        (clients.join(), latencies)
    });
    let Ok(done) = done else {
        return fail("a benchmark thread panicked");
    };
    let mut done: Vec<Instant> = done?.into_iter().flatten().collect();
    done.retain(|at| (from..until).contains(at));
    done.sort();
    let rate = match (done.first(), done.last(), u32::try_from(done.len())) {
        // From the first to the last sign-in: a whole number of intervals.
        (Some(first), Some(last), Ok(count)) if count > 1 => {
            f64::from(count - 1) / (*last - *first).as_secs_f64()
        }
        _ => return fail("too few sign-ins; increase --seconds"),
    };
    Ok((rate, latencies?))
}

/// Validates tokens at a steady rate. Returns the milliseconds from when each request was due until its response.
fn validate(address: &str, tokens: &[String], time: Duration) -> Result<Vec<f64>> {
    let each = Duration::from_secs(1) / VALIDATIONS;
    let gap = each * u32::try_from(VALIDATORS)?;
    let start = Instant::now();
    let latencies = at_once(VALIDATORS, |n| {
        let mut client = Client::new(address, "");
        let mut latencies = Vec::new();
        let mut due = start + each * u32::try_from(n)?;
        for token in tokens.iter().cycle() {
            if due >= start + time || interrupted() {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            client.use_token(token);
            client.text("/api/auth/validate")?;
            latencies.push(due.elapsed().as_secs_f64() * 1000.0);
            due += gap;
        }
        Ok(latencies)
    })?;
    Ok(latencies.into_iter().flatten().collect())
}
