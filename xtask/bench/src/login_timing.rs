//! Checks that rejected sign-ins do not differ in their time, which would reveal to clients which accounts exist.

use super::environment::BenchEnvironment;
use super::goals::Backend;
use super::percentile::per_mille;
use serde_json::json;
use std::time::Instant;
use xtask_fixtures::http::Client;
use xtask_fixtures::servers::Postgres;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system;

#[derive(clap::Args)]
pub(crate) struct LoginTimingOptions {
    /// Sign-ins of each kind, in turns
    #[arg(long, default_value_t = 200)]
    tries: usize,
    /// The bcrypt cost of the passwords
    #[arg(long, default_value_t = 10)]
    cost: u32,
    /// Percentage by which the medians may differ
    #[arg(long, default_value_t = 10.0)]
    limit_percent: f64,
}

/// A password of the greatest length.
const PASSWORD: &str = "correct horse battery staple, and so on until there are 72 bytes of it..";

struct Case {
    name: &'static str,
    body: String,
    /// Milliseconds.
    times: Vec<f64>,
}

impl Case {
    fn new(name: &'static str, username: &str, password: &str) -> Self {
        Self {
            name,
            body: json!({ "username": username, "password": password }).to_string(),
            times: Vec::new(),
        }
    }
}

pub(crate) fn login_timing(options: &LoginTimingOptions) -> Result {
    system::build(true, &["identity-service"])?;
    let cost = [("IDENTITY__PASSWORD__BCRYPT_COST", options.cost.to_string())];
    let scene = BenchEnvironment::set(Backend::Postgres, &["identity"], &cost)?;
    let mut client = Client::new(scene.address("identity")?, "");
    for username in ["known", "gone"] {
        let account = json!({ "username": username, "password": PASSWORD });
        client.call("POST", "/api/auth/register", &account)?;
    }
    // As an administrator does. The sign-in then uses the correct password.
    Postgres::execute(
        scene.database("identity")?,
        "UPDATE users SET is_active = FALSE WHERE username = 'gone'",
    )?;
    let mut cases = [
        Case::new("unknown user", "nobody", PASSWORD),
        Case::new("wrong password", "known", "correct horse"),
        Case::new("inactive account", "gone", PASSWORD),
        Case::new("73-byte password", "known", &format!("{PASSWORD}.")),
    ];
    for round in 0..options.tries {
        // Each kind follows each other kind equally often.
        cases.rotate_left(round % 2 + 1);
        for case in &mut cases {
            let begun = Instant::now();
            let (status, body) = client.send("POST", "/api/auth/login", &case.body)?;
            case.times.push(begun.elapsed().as_secs_f64() * 1000.0);
            if status != 401 || !body.contains("\"invalid_credentials\"") {
                return fail(format!("{}: {status} {body}", case.name));
            }
        }
    }
    report(options, cases)
}

fn report(options: &LoginTimingOptions, mut cases: [Case; 4]) -> Result {
    cases.sort_by_key(|case| case.name);
    println!(
        "{:<18} {:>6} {:>10} {:>10} {:>10}",
        "rejected sign-in", "tries", "p10 ms", "median ms", "p90 ms"
    );
    let mut medians = Vec::new();
    for case in &mut cases {
        case.times.sort_by(f64::total_cmp);
        let at = |thousandths| per_mille(&case.times, thousandths);
        println!(
            "{:<18} {:>6} {:>10.2} {:>10.2} {:>10.2}",
            case.name,
            case.times.len(),
            at(100),
            at(500),
            at(900)
        );
        medians.push(at(500));
    }
    let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let high = medians.iter().copied().fold(0.0, f64::max);
    let deviation = (high / low - 1.0) * 100.0;
    println!(
        "largest deviation of two medians {deviation:.2} % (limit {} %)",
        options.limit_percent
    );
    if deviation > options.limit_percent || deviation.is_nan() {
        return fail("the medians differ by more than the limit");
    }
    Ok(())
}
