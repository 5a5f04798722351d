//! Other people's programs that do such work: installed from the registries at pinned versions, each on fresh data and a
//! free port, and asked with the tools that ask ours.

mod glewlwyd;
mod graphile;
mod oidc_provider;
mod timetagger;
mod tokens;

use super::{Options, memory, startup};
use crate::table::{Row, Sample, Unit};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;
use xtask_kit::cmd::{Context, Result, nap};
use xtask_kit::envs;
use xtask_kit::servers::free_port;
use xtask_kit::system::{self, Program};

pub(super) use tokens::{Resident, TokenPeer, TokenServer, all_active};

/// The rows of the peers by themselves: there is nothing that they have to reach.
pub(super) fn peers(options: &Options) -> Result<Vec<Row>> {
    let mut rows = tokens::rows(options)?;
    rows.extend(timetagger::rows(options)?);
    rows.extend(graphile::rows(options)?);
    Ok(rows)
}

/// A peer that answers over HTTP, and its data.
pub(super) struct Peer {
    /// Its program on this port.
    command: Box<dyn Fn(u16) -> Command>,
    /// What it answers with 200 as soon as it can do its work.
    ready: &'static str,
    folder: TempDir,
}

/// A peer that runs. Dropping it stops it.
struct Running {
    program: Program,
    /// `http://HOST:PORT`
    address: String,
    /// From exec to ready.
    ms: f64,
}

impl Peer {
    fn start(&self) -> Result<Running> {
        let port = free_port()?;
        let log = self.folder.path().join("log");
        let started = Instant::now();
        let program = Program::spawn(&mut (self.command)(port), &log)?;
        startup::wait_ready(port, self.ready, started)
            .context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Running {
            program,
            address: format!("http://127.0.0.1:{port}"),
            ms: started.elapsed().as_secs_f64() * 1000.0,
        })
    }

    /// Milliseconds from exec to ready; then it is ended as a crash would end it.
    pub(super) fn start_and_end(&self) -> Result<f64> {
        let mut running = self.start()?;
        running.program.process().signal("KILL");
        Ok(running.ms)
    }

    /// What its starts take, with the data that it has.
    fn start_row(&self, name: &str, against: &'static str, options: &Options) -> Result<Row> {
        let mut row = Row {
            work: format!("start, {name}"),
            unit: Unit::Milliseconds,
            against,
            ..Row::default()
        };
        for _ in 0..options.rounds {
            row.samples
                .push(Sample::of(self.start_and_end()?, f64::NAN));
        }
        Ok(row)
    }
}

impl Running {
    fn process(&mut self) -> u32 {
        self.program.process().id()
    }

    fn resident_mb(&mut self) -> Result<f64> {
        system::resident_mb(self.process())
    }

    /// What is resident once what the start needed is given back.
    fn idle_mb(&mut self) -> Result<f64> {
        nap(memory::REST)?;
        self.resident_mb()
    }
}

/// A row of megabytes.
fn memory_row(work: String, against: &'static str, mb: f64) -> Row {
    println!("{work}: {mb:.1} MB");
    Row {
        work,
        unit: Unit::Megabytes,
        against,
        samples: vec![Sample::of(mb, f64::NAN)],
        ..Row::default()
    }
}

/// A folder for a peer's data, on the disk as in production: what is flushed is flushed.
fn fresh_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("peer-")
        .tempdir_in(envs::target_dir());
    Ok(folder?)
}

/// Where the pins and the scripts of a peer stand.
fn source(peer: &str) -> PathBuf {
    envs::root().join("xtask/bench/peers").join(peer)
}

/// The lines of a file that need not end with one.
fn lines(file: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(file).context(|| file.display().to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}
