//! graphile-worker, which runs jobs that lie in PostgreSQL, as our relay tells events that lie there.

use super::source;
use crate::goals::Options;
use crate::table::{Row, Sample};
use std::process::Command;
use xtask_kit::cmd::{Result, fail, output};
use xtask_kit::runtimes;
use xtask_kit::servers::Postgres;

/// Jobs of a round.
const JOBS: usize = 10_000;
/// Jobs at a time, as its own measurements have it.
const AT_A_TIME: usize = 24;

pub(super) fn rows(options: &Options) -> Result<Vec<Row>> {
    let work = "jobs, graphile-worker".to_owned();
    if !options.wants(&work) {
        return Ok(Vec::new());
    }
    let (node, scripts) = runtimes::node_with("graphile-worker", &source("graphile-worker"))?;
    let postgres = Postgres::durable()?;
    let database = postgres.make_database("graphile")?;
    let mut row = Row {
        work,
        against: "graphile-worker 0.17.3 on Node.js, PostgreSQL, 24 jobs at a time, no batches",
        ..Row::default()
    };
    for round in 1..=options.rounds {
        let mut command = Command::new(&node);
        command
            .arg(scripts.join("jobs.mjs"))
            .arg(&database)
            .args([JOBS.to_string(), AT_A_TIME.to_string()]);
        let (rate, mb) = parse(&output(&mut command)?)?;
        println!("{}, round {round}: {rate:.0}/s", row.work);
        row.samples.push(Sample::of(rate, f64::NAN));
        row.rss_mb = Some(mb);
    }
    Ok(vec![row])
}

/// Jobs a second, and megabytes.
fn parse(said: &str) -> Result<(f64, f64)> {
    let line = said.lines().find_map(|line| line.strip_prefix("figures "));
    let figures = line.map(|line| line.split(' ').map(str::parse).collect());
    let figures: Option<Vec<f64>> = figures.transpose()?;
    match figures.as_deref() {
        Some([jobs, ms, bytes]) => Ok((jobs / ms * 1e3, bytes / 1e6)),
        _ => fail(format!("graphile-worker says nothing of use: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn figures_are_read_from_among_other_lines() {
        let said = "ready\nfigures 10000 2500.0 98000000\n";
        assert_eq!(parse(said).unwrap(), (4000.0, 98.0));
        assert!(parse("figures 10000").is_err());
        assert!(parse("figures a b c").is_err());
    }
}
