//! Third-party programs that do comparable work: installed from registries at pinned versions, each on fresh data and a free
//! port, and measured with the same tools as the product.

mod glewlwyd;
mod oidc_provider;
pub(super) mod timetagger;
mod tokens;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask_fixtures::http::Client;
use xtask_fixtures::servers::free_port;
use xtask_kit::cmd::{Context, Result, fail, nap};
use xtask_kit::env_vars;
use xtask_kit::system::{self, Program};

pub(super) use glewlwyd::GLEWLWYD;
pub(super) use oidc_provider::OIDC_PROVIDER;
pub(super) use tokens::{Resident, TokenPeer, TokenServer, all_active};

/// The time after which memory that only the start needed is released.
pub(super) const REST: Duration = Duration::from_secs(5);

/// A peer that answers over HTTP, with its data.
pub(super) struct Peer {
    /// Returns the command that runs it on this port.
    command: Box<dyn Fn(u16) -> Command>,
    /// The path that answers 200 as soon as the peer is ready.
    ready: &'static str,
    folder: TempDir,
}

/// A running peer. Dropping it stops it.
struct Running {
    program: Program,
    /// `http://HOST:PORT`
    address: String,
    /// Milliseconds from exec to ready.
    ms: f64,
}

impl Peer {
    fn start(&self) -> Result<Running> {
        let port = free_port()?;
        let log = self.folder.path().join("log");
        let started = Instant::now();
        let program = Program::spawn(&mut (self.command)(port), &log)?;
        wait_ready(port, self.ready, started)
            .context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Running {
            program,
            address: format!("http://127.0.0.1:{port}"),
            ms: started.elapsed().as_secs_f64() * 1000.0,
        })
    }

    /// Returns the milliseconds from exec to ready, then kills the peer as a crash would.
    pub(super) fn start_and_end(&self) -> Result<f64> {
        let mut running = self.start()?;
        running.program.process().signal("KILL");
        Ok(running.ms)
    }
}

impl Running {
    fn process(&mut self) -> u32 {
        self.program.process().id()
    }

    fn resident_mb(&mut self) -> Result<f64> {
        system::resident_mb(self.process())
    }

    /// Returns the resident memory once what only the start needed is released.
    fn idle_mb(&mut self) -> Result<f64> {
        nap(REST)?;
        self.resident_mb()
    }
}

/// Returns the folder with the pins and scripts of a peer.
fn source(peer: &str) -> PathBuf {
    env_vars::root().join("xtask/bench/peers").join(peer)
}

/// Returns the lines of a file. The last line need not end with a line break.
fn lines(file: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(file).context(|| file.display().to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Polls a path that answers 200 once all is ready, every half millisecond, so that polling adds little to the time.
pub(super) fn wait_ready(port: u16, path: &str, started: Instant) -> Result {
    let mut client = Client::new(&format!("http://127.0.0.1:{port}"), "");
    loop {
        if matches!(client.send("GET", path, ""), Ok((200, _))) {
            return Ok(());
        }
        if started.elapsed() > Duration::from_secs(30) {
            return fail(format!("port {port} is not ready after 30 s"));
        }
        nap(Duration::from_micros(500))?;
    }
}
