//! A PostgreSQL server on which the tests may create databases.

use super::{Source, apt, free_port};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask_kit::cmd::{ProcessGroup, Result, fail, nap, output};
use xtask_kit::envs;

const VARIABLE: &str = "HOLDFAST_TEST_PG";

/// Settings for tests: their data lives only as long as the run, so nothing is flushed.
const FORGETFUL: [&str; 2] = ["fsync=off", "full_page_writes=off"];

/// Settings for measurements: `pg_stat_statements`, which comes with the server, records what statements cost, and the
/// server keeps the WAL files that [`Postgres::durable`] fills.
const DURABLE: [&str; 3] = [
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track_planning=on",
    "min_wal_size=512MB",
];

/// Fills WAL files of 16 MB each, then makes them reusable.
const FILL_LOG: [&str; 2] = [
    "SELECT pg_logical_emit_message(false, 'fill', 'x'), pg_switch_wal() FROM generate_series(1, 32)",
    "CHECKPOINT",
];

/// A server, with its process and folder if this tool started it.
pub struct Postgres {
    /// `postgres://USER@HOST:PORT/postgres`
    pub(super) url: String,
    // Dropped in this order: the process first, then its folder.
    process: Option<PrivatePostgres>,
    _folder: Option<TempDir>,
}

/// A server that this tool started, with the command that starts it again.
struct PrivatePostgres {
    group: ProcessGroup,
    command: Command,
    log: PathBuf,
    url: String,
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Ends every session first.
    Fast,
    /// Stops at once; the next start replays the WAL.
    Immediate,
}

impl Postgres {
    /// Starts a private server that flushes commits, as in production, and has WAL files to reuse. On a new server every
    /// 16 MB of WAL need a new file, for which all commits wait.
    pub fn durable() -> Result<Self> {
        let Some(programs) = apt::obtain(programs, "postgresql")? else {
            return fail("no PostgreSQL programs on this machine");
        };
        let server = Self::private(&programs, &DURABLE)?;
        for statement in FILL_LOG {
            Self::execute(&server.url, statement)?;
        }
        Ok(server)
    }

    pub(super) fn obtain(source: Source) -> Result<Self> {
        if source.includes(Source::Named)
            && let Some(url) = envs::var(VARIABLE)
        {
            println!("PostgreSQL: {VARIABLE}");
            return Ok(Self::elsewhere(url));
        }
        // A private server comes first: without flushes and encryption, hundreds of databases are created and dropped in
        // half the time, and nobody's server is touched.
        if source.includes(Source::Private)
            && let Some(programs) = programs()
        {
            return Self::private(&programs, &FORGETFUL);
        }
        if source.includes(Source::Found)
            && let Some(found) = Self::found()
        {
            return Ok(found);
        }
        if source.includes(Source::Install)
            && let Some(programs) = apt::obtain(programs, "postgresql")?
        {
            return Self::private(&programs, &FORGETFUL);
        }
        fail(format!(
            "no PostgreSQL: set {VARIABLE} to a server on which databases may be created, such as postgres://user:password@127.0.0.1:5432/postgres"
        ))
    }

    /// Looks for a server on the usual port, as the users that a local server is likely to trust.
    fn found() -> Option<Self> {
        let may_create =
            "SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolcreatedb OR rolsuper)";
        let me = envs::var("USER").or_else(|| envs::var("LOGNAME"));
        let users = me.into_iter().chain(["postgres".into(), "root".into()]);
        let urls = users.map(|user| format!("postgres://{user}@127.0.0.1:5432/postgres"));
        let mut trusted =
            urls.filter(|url| Self::rows(url, may_create).is_ok_and(|rows| !rows.is_empty()));
        let url = trusted.next()?;
        println!("PostgreSQL: found, {url}");
        Some(Self::elsewhere(url))
    }

    fn elsewhere(url: String) -> Self {
        Self {
            url,
            process: None,
            _folder: None,
        }
    }

    /// Creates a database and returns its URL. Fails on a server that this tool did not start.
    pub fn make_database(&self, name: &str) -> Result<String> {
        if self.process.is_none() {
            return fail("this tool did not start the server");
        }
        Self::execute(
            &self.url,
            &format!("CREATE DATABASE \"{name}\" TEMPLATE template0"),
        )?;
        Ok(format!("{}/{name}", self.url.trim_end_matches("/postgres")))
    }

    /// Returns the path of a program that comes with the server.
    pub fn program(name: &str) -> Result<PathBuf> {
        let beside = programs().map(|folder| folder.join(name));
        match beside
            .filter(|path| path.is_file())
            .or_else(|| envs::which(name))
        {
            Some(program) => Ok(program),
            None => fail(format!("{name} is missing; it comes with PostgreSQL")),
        }
    }

    /// Runs one statement in a database.
    pub fn execute(database: &str, sql: &str) -> Result {
        Self::rows(database, sql).map(drop)
    }

    /// Returns the rows of a query as text. Values must not contain tabs or line breaks; NULL is an empty string.
    pub fn rows(database: &str, sql: &str) -> Result<Vec<Vec<String>>> {
        let mut psql = Command::new(Self::program("psql")?);
        psql.args(["--no-psqlrc", "--no-password", "--quiet", "--tuples-only"])
            .args(["--no-align", "--field-separator=\t", "--command", sql])
            .arg(database);
        let row = |line: &str| line.split('\t').map(str::to_owned).collect();
        Ok(output(&mut psql)?.lines().map(row).collect())
    }

    /// Stops a server that this tool started, and starts it again after `pause`.
    pub fn restart(&mut self, how: Shutdown, pause: Duration) -> Result {
        let Some(private) = &mut self.process else {
            return fail("this tool did not start the server");
        };
        // Backends have process groups of their own: only the postmaster gets the signal, and ends them.
        private.group.signal(match how {
            Shutdown::Fast => "INT",
            Shutdown::Immediate => "QUIT",
        });
        private.group.wait()?;
        nap(pause)?;
        private.group = ProcessGroup::spawn(&mut private.command)?;
        private.wait()
    }

    fn private(programs: &Path, more_settings: &[&str]) -> Result<Self> {
        let folder = crate::fresh_folder("holdfast-postgres-")?;
        let runner = Runner::new(folder.path())?;
        let data = folder.path().join("data");
        let started = Instant::now();
        output(
            runner
                .command(&programs.join("initdb"))
                .arg("--pgdata")
                .arg(&data)
                .args([
                    "--username=holdfast",
                    "--auth=trust",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--no-sync",
                ]),
        )?;
        let port = free_port()?;
        let mut command = runner.command(&programs.join("postgres"));
        command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        let settings = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=300",
        ];
        for setting in settings.iter().chain(more_settings) {
            command.args(["-c", setting]);
        }
        let log = folder.path().join("log");
        ProcessGroup::into_log(&mut command, &log)?;
        let url = format!("postgres://holdfast@127.0.0.1:{port}/postgres");
        let mut process = PrivatePostgres {
            group: ProcessGroup::spawn(&mut command)?,
            command,
            log,
            url: url.clone(),
        };
        process.wait()?;
        println!(
            "PostgreSQL: private server from {} on port {port}, ready after {:.1} s",
            programs.display(),
            started.elapsed().as_secs_f64()
        );
        Ok(Self {
            url,
            process: Some(process),
            _folder: Some(folder),
        })
    }
}

impl PrivatePostgres {
    /// Waits until the server accepts connections.
    fn wait(&mut self) -> Result {
        let url = &self.url;
        self.group
            .wait_answering("the private PostgreSQL", &self.log, || {
                Postgres::execute(url, "SELECT 1").is_ok()
            })
    }
}

/// Returns the folder with `initdb` and `postgres`: from `PATH`, otherwise the newest of Debian's versions.
fn programs() -> Option<PathBuf> {
    let whole = |dir: &PathBuf| dir.join("initdb").is_file() && dir.join("postgres").is_file();
    if let Some(dir) = envs::which("initdb").and_then(|p| p.parent().map(Path::to_path_buf))
        && whole(&dir)
    {
        return Some(dir);
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|v| Some((v.file_name().to_str()?.parse().ok()?, v.path().join("bin"))))
        .filter(|(_, dir)| whole(dir))
        .collect();
    versions.sort();
    versions.pop().map(|(_, dir)| dir)
}

/// Runs programs as a user that may run a database server: PostgreSQL refuses to run as root.
struct Runner {
    /// User and group; `None` if this process is not root.
    login: Option<(&'static str, String)>,
}

impl Runner {
    /// Makes that user the owner of the folder.
    fn new(folder: &Path) -> Result<Self> {
        if !apt::is_root() {
            return Ok(Self { login: None });
        }
        for user in ["postgres", "nobody"] {
            if let Ok(group) = output(Command::new("id").args(["-gn", user])) {
                output(Command::new("chown").arg(user).arg(folder))?;
                return Ok(Self {
                    login: Some((user, group.trim().to_owned())),
                });
            }
        }
        fail("there is no user `postgres` or `nobody` to run PostgreSQL as")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = match &self.login {
            // setpriv becomes the program; runuser would stay between it and the signals.
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command
                    .args(["--reuid", user, "--regid", group, "--clear-groups", "--"])
                    .arg(program);
                command
            }
            None => Command::new(program),
        };
        // That user may have no access to the current folder.
        command.current_dir("/");
        command
    }
}
