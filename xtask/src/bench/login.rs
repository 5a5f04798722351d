//! A flood of sign-ins: it is to get all that the cores can hash, and whoever has a token already is
//! not to notice.

use super::http::Client;
use super::{join, per_mille};
use crate::cmd::{Result, fail, interrupted};
use crate::system::{self, Program};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Who sign in at the same time, each again as soon as he is in.
const CLIENTS: usize = 64;
/// Accounts that they share.
const ACCOUNTS: usize = 16;
/// Connections over which tokens are validated meanwhile.
const VALIDATORS: u32 = 4;
const PASSWORD: &str = "correct horse battery staple";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The costs of a password's hash
    #[arg(long, default_values_t = [10, 12])]
    cost: Vec<u32>,
    /// Measurements of each cost
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of one measurement
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Validations in a second
    #[arg(long, default_value_t = 100)]
    rate: u32,
    /// Share of what the cores can hash that sign-ins must reach
    #[arg(long, default_value_t = 0.95)]
    limit_share: f64,
    /// Milliseconds that 99 of 100 validations may take meanwhile
    #[arg(long, default_value_t = 25.0)]
    limit_ms: f64,
}

/// What one cost came to, the medians of its rounds.
struct Row {
    cost: u32,
    alone_ms: f64,
    bare: f64,
    logins: f64,
    share: f64,
    calm: Latencies,
    flooded: Latencies,
}

/// Milliseconds, sorted.
struct Latencies(Vec<f64>);

impl Latencies {
    fn summary(&self) -> String {
        let at = |thousandths| per_mille(&self.0, thousandths);
        format!("{:>6.1} {:>6.1} {:>6.1}", at(500), at(990), at(1000))
    }
}

pub(crate) fn login(options: &Options) -> Result {
    system::build(true, &["identity-service"])?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = options
        .cost
        .iter()
        .map(|cost| measure(*cost, cores, options))
        .collect::<Result<Vec<_>>>()?;
    println!(
        "{CLIENTS} clients sign in, {} validations a second; {cores} cores for all",
        options.rate
    );
    println!(
        "{:>4} {:>9} {:>9} {:>9} {:>6}   {:>20}   {:>20}",
        "cost",
        "1 hash ms",
        "hashes/s",
        "logins/s",
        "share",
        "calm p50 p99 max ms",
        "flood p50 p99 max ms"
    );
    for row in &rows {
        println!(
            "{:>4} {:>9.1} {:>9.2} {:>9.2} {:>6.3}   {}   {}",
            row.cost,
            row.alone_ms,
            row.bare,
            row.logins,
            row.share,
            row.calm.summary(),
            row.flooded.summary()
        );
    }
    let good = |row: &Row| {
        row.share >= options.limit_share && per_mille(&row.flooded.0, 990) < options.limit_ms
    };
    if rows.iter().all(good) {
        Ok(())
    } else {
        fail(format!(
            "sign-ins get less than {} of the cores, or validation takes {} ms and more",
            options.limit_share, options.limit_ms
        ))
    }
}

fn measure(cost: u32, cores: usize, options: &Options) -> Result<Row> {
    let folder = tempfile::Builder::new()
        .prefix("holdfast-bench-")
        .tempdir()?;
    let program = serve(folder.path(), cost)?;
    let address = program.address("identity")?;
    let mut tokens = Vec::new();
    for n in 0..ACCOUNTS {
        let account = json!({ "username": name(n), "password": PASSWORD });
        let pair = Client::new(address, "").call("POST", "/api/auth/register", &account)?;
        let token = pair.pointer("/access_token").and_then(Value::as_str);
        tokens.push(token.unwrap_or_default().to_owned());
    }
    let time = Duration::from_secs(options.seconds);
    let (mut alone, mut bare, mut logins, mut shares) = (vec![], vec![], vec![], vec![]);
    let (mut calm, mut flooded) = (vec![], vec![]);
    for round in 1..=options.rounds {
        alone.push(hash_alone(cost)?);
        let before = hash_on_all(cost, cores, time / 4)?;
        calm.extend(validate(address, &tokens, options.rate, time / 4)?);
        let (rate, latencies) = flood(address, &tokens, options.rate, time)?;
        flooded.extend(latencies);
        // The machine is not the same all the time: it is asked before and after.
        let limit = (before + hash_on_all(cost, cores, time / 4)?) / 2.0;
        println!("cost {cost}, round {round}: {rate:.2} logins/s of {limit:.2} hashes/s");
        bare.push(limit);
        logins.push(rate);
        shares.push(rate / limit);
    }
    for values in [
        &mut alone,
        &mut bare,
        &mut logins,
        &mut shares,
        &mut calm,
        &mut flooded,
    ] {
        values.sort_by(f64::total_cmp);
    }
    Ok(Row {
        cost,
        alone_ms: per_mille(&alone, 500),
        bare: per_mille(&bare, 500),
        logins: per_mille(&logins, 500),
        share: per_mille(&shares, 500),
        calm: Latencies(calm),
        flooded: Latencies(flooded),
    })
}

fn serve(folder: &Path, cost: u32) -> Result<Program> {
    let mut command = Command::new(system::binary(true, "identity-service"));
    command
        .arg("serve")
        .env("IDENTITY__LISTEN", "127.0.0.1:0")
        .env("IDENTITY__DATA_DIR", folder.join("data"))
        .env("IDENTITY__RATE_LIMITS__ENABLED", "false")
        .env("IDENTITY__PASSWORD__BCRYPT_COST", cost.to_string());
    Program::start(&mut command, &["identity"], &folder.join("log"))
}

fn name(n: usize) -> String {
    format!("bench-user-{n}")
}

/// Milliseconds of one hash while nothing else is computed: the quickest of three.
fn hash_alone(cost: u32) -> Result<f64> {
    let mut quickest = f64::INFINITY;
    for _ in 0..3 {
        let begun = Instant::now();
        bcrypt::hash(PASSWORD, cost)?;
        quickest = quickest.min(begun.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(quickest)
}

/// Hashes in a second with every core at it: what no service can exceed.
fn hash_on_all(cost: u32, cores: usize, time: Duration) -> Result<f64> {
    let hash = || -> Result<f64> {
        let begun = Instant::now();
        let mut hashes = 0.0;
        while begun.elapsed() < time && !interrupted() {
            bcrypt::hash(PASSWORD, cost)?;
            hashes += 1.0;
        }
        Ok(hashes / begun.elapsed().as_secs_f64())
    };
    let rates = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(hash)).collect();
        join(threads)
    })?;
    Ok(rates.into_iter().sum())
}

/// Sign-ins in a second, and the latencies of validations meanwhile.
fn flood(address: &str, tokens: &[String], rate: u32, time: Duration) -> Result<(f64, Vec<f64>)> {
    // The queue fills first, and the flood ends after the last moment that counts.
    let from = Instant::now() + Duration::from_secs(2);
    let until = from + time;
    let client = |n: usize| -> Result<Vec<Instant>> {
        let mut client = Client::new(address, "");
        let login = json!({ "username": name(n % ACCOUNTS), "password": PASSWORD }).to_string();
        let mut done = Vec::new();
        while Instant::now() < until && !interrupted() {
            let (status, body) = client.send("POST", "/api/auth/login", &login)?;
            if status != 200 {
                return fail(format!("login: {status} {body}"));
            }
            done.push(Instant::now());
        }
        Ok(done)
    };
    let (done, latencies) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| scope.spawn(move || client(n)))
            .collect();
        std::thread::sleep(from.saturating_duration_since(Instant::now()));
        let latencies = validate(address, tokens, rate, time);
        (join(clients), latencies)
    });
    let mut done: Vec<Instant> = done?.into_iter().flatten().collect();
    done.retain(|at| (from..until).contains(at));
    done.sort();
    let rate = match (done.first(), done.last(), u32::try_from(done.len())) {
        // From the first to the last: whole sign-ins in a whole number of gaps.
        (Some(first), Some(last), Ok(count)) if count > 1 => {
            f64::from(count - 1) / (*last - *first).as_secs_f64()
        }
        _ => return fail("hardly anybody signed in; give it more --seconds"),
    };
    Ok((rate, latencies?))
}

/// Milliseconds from when a validation was due until it was answered, at a steady rate.
fn validate(address: &str, tokens: &[String], rate: u32, time: Duration) -> Result<Vec<f64>> {
    let gap = Duration::from_secs(1) * VALIDATORS / rate.max(1);
    let start = Instant::now();
    let validator = |n: u32| -> Result<Vec<f64>> {
        let mut client = Client::new(address, "");
        let mut latencies = Vec::new();
        let mut due = start + gap * n / VALIDATORS;
        for token in tokens.iter().cycle() {
            if due >= start + time || interrupted() {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            client.use_token(token);
            let (status, body) = client.send("GET", "/api/auth/validate", "")?;
            if status != 200 {
                return fail(format!("validate: {status} {body}"));
            }
            latencies.push(due.elapsed().as_secs_f64() * 1000.0);
            due += gap;
        }
        Ok(latencies)
    };
    let latencies = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..VALIDATORS)
            .map(|n| scope.spawn(move || validator(n)))
            .collect();
        join(threads)
    })?;
    Ok(latencies.into_iter().flatten().collect())
}
