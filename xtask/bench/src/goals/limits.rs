//! The limits beside the product: the HTTP library alone, and the database's own statements, one transaction each. Ids grow
//! with time, as those of the product do.

use crate::wrk;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use xtask_fixtures::fresh_folder_on_disk;
use xtask_fixtures::servers::Postgres;
use xtask_kit::cmd::{Result, fail, output};
use xtask_kit::system::{self, Program, RESPONDER};

/// The number of clients: as many as the product has statements at a time.
const CLIENTS: usize = 8;

/// The HTTP library, which answers with bodies of one size.
pub(super) struct Responder {
    program: Program,
}

impl Responder {
    /// Starts a responder that answers at once.
    pub(super) fn bare(bytes: usize, folder: &Path) -> Result<Self> {
        Self::start(&[&bytes.to_string()], folder)
    }

    /// Starts a responder that first verifies the bearer token's signature with a key (a JWK).
    pub(super) fn verifying(bytes: usize, jwk: &str, folder: &Path) -> Result<Self> {
        Self::start(&[&bytes.to_string(), jwk], folder)
    }

    fn start(arguments: &[&str], folder: &Path) -> Result<Self> {
        let mut command = Command::new(program(RESPONDER));
        let log = folder.join("responder.log");
        let program = Program::start(command.args(arguments), &[RESPONDER], &log)?;
        Ok(Self { program })
    }

    /// Measures its requests a second.
    pub(super) fn rate(&self, tokens: &Path, time: Duration) -> Result<f64> {
        let request = wrk::Request::new(self.program.address(RESPONDER)?, tokens);
        Ok(wrk::ask(&request, time)?.rate)
    }
}

fn program(example: &str) -> std::path::PathBuf {
    system::binary(true, &format!("examples/{example}"))
}

/// Measures the transactions a second of a pgbench script.
pub(super) fn pgbench(database: &str, script: &str, time: Duration) -> Result<f64> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), script)?;
    let mut command = Command::new(Postgres::program("pgbench")?);
    command
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=1"])
        .arg(format!("--client={CLIENTS}"))
        .arg(format!("--time={}", time.as_secs().max(1)))
        .arg("--file")
        .arg(file.path())
        .arg(database)
        .env("LC_ALL", "C");
    let said = output(&mut command)?;
    let line = said.lines().find_map(|line| line.strip_prefix("tps = "));
    match line.and_then(|line| line.split(' ').next()?.parse().ok()) {
        Some(tps) => Ok(tps),
        None => fail(format!("cannot read the output of pgbench: {said}")),
    }
}

/// Measures the transactions a second of `two_inserts` or `eight_upserts` on SQLite, each flushed.
pub(super) fn sqlite(work: &str, time: Duration) -> Result<f64> {
    let folder = fresh_folder_on_disk("bare-")?;
    let mut command = Command::new(program("bare_sqlite"));
    command
        .arg(folder.path().join("bare.db"))
        .arg(work)
        .arg(time.as_secs().max(1).to_string());
    Ok(output(&mut command)?.trim().parse()?)
}

/// The writes of a start: the session and its event.
pub(super) const TWO_INSERTS: (&str, &str) = (
    "CREATE TABLE a (id TEXT PRIMARY KEY, user_id BIGINT NOT NULL, body TEXT NOT NULL, at TIMESTAMP NOT NULL); \
     CREATE INDEX a_user ON a (user_id, at); \
     CREATE TABLE b (id TEXT PRIMARY KEY, body TEXT NOT NULL, at TIMESTAMP NOT NULL)",
    "\\set user random(1, 2000)\n\
     BEGIN;\n\
     INSERT INTO a VALUES (to_char(clock_timestamp(), 'YYYYMMDDHH24MISSUS') || gen_random_uuid(), :user, repeat('x', 250), now());\n\
     INSERT INTO b VALUES (to_char(clock_timestamp(), 'YYYYMMDDHH24MISSUS') || gen_random_uuid(), repeat('x', 900), now());\n\
     END;\n",
);

/// The counters that a submit updates.
pub(super) const EIGHT_UPSERTS: (&str, &str) = (
    "CREATE TABLE r (kind INT, user_id BIGINT, at INT, minutes BIGINT NOT NULL, PRIMARY KEY (kind, user_id, at))",
    "\\set user random(1, 2000)\n\
     BEGIN;\n\
     INSERT INTO r VALUES (1, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (2, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (3, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (4, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (5, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (6, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (7, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     INSERT INTO r VALUES (8, :user, 0, 25) ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25;\n\
     END;\n",
);

/// The read of a validation without caches.
pub(super) const ONE_SELECT: (&str, &str) = (
    "CREATE TABLE s (id BIGINT PRIMARY KEY, body TEXT NOT NULL); \
     INSERT INTO s SELECT i, repeat('x', 250) FROM generate_series(1, 1000) i; ANALYZE s",
    "\\set id random(1, 1000)\nSELECT body FROM s WHERE id = :id;\n",
);
