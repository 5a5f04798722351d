//! From exec to ready with existing data, and memory at rest.

use super::http::Client;
use super::per_mille;
use crate::cmd::{Result, fail, nap};
use crate::servers::free_port;
use crate::system::{self, PARTS, Program};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often it is started
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Milliseconds that the median may take
    #[arg(long, default_value_t = 150.0)]
    limit_ms: f64,
    /// Megabytes (10^6 bytes) that may be resident at rest
    #[arg(long, default_value_t = 40.0)]
    limit_mb: f64,
}

pub(crate) fn startup(options: &Options) -> Result {
    system::build(true, &["holdfast"])?;
    let folder = tempfile::Builder::new()
        .prefix("holdfast-bench-")
        .tempdir()?;
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    // The first start makes the data that the measured ones find.
    let mut first = system::holdfast(true, &data);
    drop(Program::start(first.arg("--demo"), &PARTS, &log)?);

    let mut times = Vec::new();
    let mut resident = 0.0_f64;
    for round in 1..=options.rounds {
        let ports = [free_port()?, free_port()?, free_port()?];
        let mut command = system::holdfast(true, &data);
        for (part, port) in PARTS.iter().zip(ports) {
            command.env(
                format!("{}__LISTEN", part.to_uppercase()),
                format!("127.0.0.1:{port}"),
            );
        }
        let started = Instant::now();
        let mut program = Program::spawn(&mut command, &log)?;
        for port in ports {
            wait_ready(port, started)?;
        }
        let time = started.elapsed().as_secs_f64() * 1000.0;
        times.push(time);
        if round == options.rounds {
            nap(Duration::from_secs(5))?;
            resident = system::resident_mb(program.process().id())?;
        }
        // As a crash would: the next start finds what it left.
        program.process().signal("KILL");
    }
    report(options, times, resident, &data)
}

/// Polls `/health/ready` without a pause: the figure is the service's, not the poll's.
fn wait_ready(port: u16, started: Instant) -> Result {
    let mut client = Client::new(&format!("http://127.0.0.1:{port}"), "");
    loop {
        if matches!(client.send("GET", "/health/ready", ""), Ok((200, _))) {
            return Ok(());
        }
        if started.elapsed() > Duration::from_secs(30) {
            return fail(format!("port {port} is not ready after 30 s"));
        }
        nap(Duration::from_micros(500))?;
    }
}

fn report(options: &Options, mut times: Vec<f64>, resident: f64, data: &Path) -> Result {
    times.sort_by(f64::total_cmp);
    let (median, worst) = (per_mille(&times, 500), per_mille(&times, 1000));
    let bytes: u64 = std::fs::read_dir(data)?
        .flatten()
        .filter_map(|f| f.metadata().ok())
        .map(|m| m.len())
        .sum();
    println!("existing data            {:>8} KB", bytes / 1000);
    println!(
        "ready, median of {:<4}    {median:>8.1} ms (limit {} ms, worst {worst:.1} ms)",
        times.len(),
        options.limit_ms
    );
    println!(
        "resident after 5 s       {resident:>8.1} MB (limit {} MB)",
        options.limit_mb
    );
    if median > options.limit_ms || resident > options.limit_mb {
        return fail("over the limit");
    }
    Ok(())
}
