//! The services on fresh data, with users who have signed in.

use super::goals::Backend;
use super::load::at_once;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use xtask_fixtures::fresh_folder_on_disk;
use xtask_fixtures::http::{Client, text};
use xtask_fixtures::servers::{Postgres, PrivateRabbit};
use xtask_kit::cmd::{Result, fail, output, wait_until};
use xtask_kit::system::{self, PARTS, Program, UNLIMITED};

/// Concurrent sign-ins while a scene is prepared.
const SIGNING_IN: usize = 8;

/// A client of the identity service that may introspect all tokens: its configuration, and its `Authorization` header.
const CLIENTS: &str = r#"[[identity.oauth_clients]]
client_id = "bench"
name = "Bench"
client_secret = "a-secret-that-only-the-bench-knows-0001"
introspect_any = true
"#;
pub(super) const CLIENT: &str =
    "Basic YmVuY2g6YS1zZWNyZXQtdGhhdC1vbmx5LXRoZS1iZW5jaC1rbm93cy0wMDAx";

const ISO: &str = "YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"";

/// Users who have signed in.
pub(super) struct SignedIn {
    pub(super) tokens: Vec<String>,
    pub(super) refresh_tokens: Vec<String>,
    /// A file with the access tokens, one a line.
    pub(super) file: PathBuf,
}

/// The interval between two messages to one hook.
const INTERVAL: &str = "NOTIFIER__CHAT__INTERVAL_MS";

/// The product, or some of its services.
pub(super) struct BenchEnvironment {
    // Dropped in this order: the services before their servers.
    programs: BTreeMap<&'static str, Program>,
    databases: BTreeMap<&'static str, String>,
    postgres: Option<Postgres>,
    rabbit: Option<PrivateRabbit>,
    folder: TempDir,
}

impl BenchEnvironment {
    /// Starts `parts` in this order, with `settings`.
    pub(super) fn set(
        backend: Backend,
        parts: &[&'static str],
        settings: &[(&str, String)],
    ) -> Result<Self> {
        // On the disk, as in production, so that flushes are real.
        let folder = fresh_folder_on_disk("bench-")?;
        let postgres = (backend == Backend::Postgres)
            .then(Postgres::durable)
            .transpose()?;
        let needs_broker = parts.contains(&"worksession");
        let mut scene = Self {
            programs: BTreeMap::new(),
            databases: BTreeMap::new(),
            postgres,
            rabbit: needs_broker.then(PrivateRabbit::installed).transpose()?,
            folder,
        };
        for part in parts {
            scene.start(part, settings)?;
        }
        Ok(scene)
    }

    /// Starts all services, with hooks that take a message every `interval_ms`.
    pub(super) fn services(interval_ms: u32) -> Result<Self> {
        let settings = [(INTERVAL, interval_ms.to_string())];
        Self::set(Backend::Postgres, &PARTS, &settings)
    }

    /// Starts the same in one process, which is called `holdfast`.
    pub(super) fn standalone(interval_ms: u32) -> Result<Self> {
        let mut scene = Self::set(Backend::Sqlite, &[], &[])?;
        let folder = scene.folder.path();
        let mut command = system::serve(true, "holdfast", &folder.join("data"));
        command
            .envs(UNLIMITED)
            .env(INTERVAL, interval_ms.to_string());
        let program = Program::start(&mut command, &PARTS, &folder.join("log"))?;
        scene.programs.insert("holdfast", program);
        Ok(scene)
    }

    fn start(&mut self, part: &'static str, settings: &[(&str, String)]) -> Result {
        let binary = match part {
            "notifier" => part.to_owned(),
            _ => format!("{part}-service"),
        };
        // One folder for all services: keys that are not configured are created there once.
        let mut command = system::serve(true, &binary, &self.folder.path().join("data"));
        command.envs(UNLIMITED);
        if part == "identity" {
            let file = self.folder.path().join("identity.toml");
            std::fs::write(&file, CLIENTS)?;
            command.arg("--config").arg(file);
        }
        for (name, value) in settings {
            command.env(name, value);
        }
        if let Some(postgres) = &self.postgres {
            let database = postgres.make_database(part)?;
            command.env(system::key(part, "DATABASE__URL"), &database);
            self.databases.insert(part, database);
        }
        if let Some(rabbit) = &self.rabbit {
            command.env(system::key(part, "BROKER__URL"), &rabbit.url);
        }
        if let Some(identity) = self.programs.get("identity") {
            command.env("WORKSESSION__IDENTITY_URL", identity.address("identity")?);
        }
        let log = self.folder.path().join(format!("{part}.log"));
        let program = Program::start(&mut command, &[part], &log)?;
        self.programs.insert(part, program);
        Ok(())
    }

    pub(super) fn broker(&mut self) -> Result<&mut PrivateRabbit> {
        match &mut self.rabbit {
            Some(rabbit) => Ok(rabbit),
            None => fail("no broker"),
        }
    }

    /// Returns a folder for files of the benchmark.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the URL of a service's database on PostgreSQL.
    pub(super) fn database(&self, part: &str) -> Result<&str> {
        match self.databases.get(part) {
            Some(database) => Ok(database),
            None => fail(format!("{part} has no database on PostgreSQL")),
        }
    }

    pub(super) fn address(&self, part: &str) -> Result<&str> {
        let mut programs = self.programs.values();
        match programs.find_map(|program| program.address(part).ok()) {
            Some(address) => Ok(address),
            None => fail(format!("{part} is not running")),
        }
    }

    /// Returns the resident memory of a service, in megabytes.
    pub(super) fn resident_mb(&mut self, part: &str) -> Result<f64> {
        system::resident_mb(self.process(part)?)
    }

    pub(super) fn process(&mut self, part: &str) -> Result<u32> {
        match self.programs.get_mut(part) {
            Some(program) => Ok(program.process().id()),
            None => fail(format!("{part} is not running")),
        }
    }

    /// Creates another database beside those of the services, with these tables.
    pub(super) fn scratch(&self, tables: &str) -> Result<String> {
        let database = match &self.postgres {
            Some(postgres) => postgres.make_database("scratch")?,
            None => return fail("a scratch database needs PostgreSQL"),
        };
        for statement in tables.split("; ") {
            Postgres::execute(&database, statement)?;
        }
        Ok(database)
    }

    /// Moves running sessions back: they start `minutes` ago and end `planned` minutes later. Returns both times in UTC.
    pub(super) fn move_back(&self, minutes: i64, planned: i64) -> Result<(String, String)> {
        let (start, end) = (-minutes, planned - minutes);
        let (update, times) = match self.databases.get("worksession") {
            Some(_) => (
                format!(
                    "UPDATE sessions SET started_at = now() AT TIME ZONE 'utc' + interval '{start} min', \
                     expected_end_at = now() AT TIME ZONE 'utc' + interval '{end} min' WHERE status = 'running'"
                ),
                format!(
                    "SELECT to_char(now() AT TIME ZONE 'utc' + interval '{start} min', '{ISO}'), \
                     to_char(now() AT TIME ZONE 'utc' + interval '{end} min', '{ISO}')"
                ),
            ),
            None => (
                format!(
                    "UPDATE sessions SET started_at = strftime('%Y-%m-%d %H:%M:%f', 'now', '{start} minutes'), \
                     expected_end_at = strftime('%Y-%m-%d %H:%M:%f', 'now', '{end} minutes') WHERE status = 'running'"
                ),
                format!(
                    "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '{start} minutes'), \
                     strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '{end} minutes')"
                ),
            ),
        };
        self.rows(&update)?;
        let rows = self.rows(&times)?;
        match rows.first().map(Vec::as_slice) {
            Some([start, end]) => Ok((start.clone(), end.clone())),
            _ => fail("the database returned no times"),
        }
    }

    /// Ends running sessions without events, as if they had been abandoned long ago.
    pub(super) fn end_running(&self) -> Result {
        let given_up = "UPDATE sessions SET status = 'abandoned', ended_at = started_at WHERE status = 'running'";
        self.rows(given_up).map(drop)
    }

    /// Waits until every event is published, so that the relay's work is not measured with other work.
    pub(super) fn wait_told(&self) -> Result {
        wait_until(
            Duration::from_secs(120),
            Duration::from_millis(50),
            "events still wait for the broker after two minutes",
            || {
                let rows = self.rows("SELECT count(*) FROM outbox WHERE state = 'pending'")?;
                Ok(rows == [["0"]])
            },
        )
    }

    fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        if let Some(database) = self.databases.get("worksession") {
            return Postgres::rows(database, sql);
        }
        let mut command = Command::new("sqlite3");
        command
            .args(["-bail", "-separator", "\t", "-cmd", ".timeout 10000"])
            .arg(self.folder.path().join("data/worksession.db"))
            .arg(sql);
        let said = output(&mut command)?;
        let row = |line: &str| line.split('\t').map(str::to_owned).collect();
        Ok(said.lines().map(row).collect())
    }

    /// Creates this many accounts, each signed in.
    pub(super) fn sign_in(&self, accounts: usize) -> Result<SignedIn> {
        let address = self.address("identity")?;
        let next = AtomicUsize::new(0);
        let made = at_once(SIGNING_IN, |_| {
            let (mut client, mut made) = (Client::new(address, ""), Vec::new());
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= accounts {
                    return Ok(made);
                }
                if n > 0 && n.is_multiple_of(10_000) {
                    println!("{n} of {accounts} have signed in");
                }
                let account =
                    json!({"username": format!("bench-user-{n}"), "password": "correct horse"});
                let pair = client.call("POST", "/api/auth/register", &account)?;
                let token = |name: &str| text(&pair, name).to_owned();
                made.push((n, token("/access_token"), token("/refresh_token")));
            }
        })?;
        let mut made: Vec<_> = made.into_iter().flatten().collect();
        made.sort();
        let pairs = made
            .into_iter()
            .map(|(_, access, refresh)| (access, refresh));
        let (tokens, refresh_tokens): (Vec<String>, Vec<String>) = pairs.unzip();
        let file = self.folder.path().join("tokens");
        std::fs::write(&file, tokens.join("\n"))?;
        Ok(SignedIn {
            tokens,
            refresh_tokens,
            file,
        })
    }
}
