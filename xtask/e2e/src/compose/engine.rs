//! A Docker engine: the one that runs, or one of Debian's packages for as long as it is needed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask_kit::cmd::{Group, Result, fail, nap, output};
use xtask_kit::envs;
use xtask_stand::fresh_folder;
use xtask_stand::{runtimes, servers};

/// An engine that answers, and the program that reads compose files.
pub(super) struct Engine {
    /// `DOCKER_HOST`, for an engine of our own.
    host: Option<String>,
    compose: &'static [&'static str],
    _process: Option<(Group, TempDir)>,
}

impl Engine {
    /// The engine that runs, or one that is installed and started now.
    pub(super) fn obtain() -> Result<Self> {
        if output(Command::new("docker").args(["info", "--format", "{{.ServerVersion}}"])).is_ok() {
            install_compose()?;
            return Ok(Self {
                host: None,
                compose: compose(),
                _process: None,
            });
        }
        if envs::which("dockerd").is_none() || envs::which("iptables").is_none() {
            servers::install(&["docker.io", "iptables"])?;
        }
        install_compose()?;
        let (process, folder, host) = start()?;
        let engine = Self {
            host: Some(host),
            compose: compose(),
            _process: Some((process, folder)),
        };
        engine.wait()?;
        Ok(engine)
    }

    /// A program that speaks to the engine, such as `docker`.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(envs::root());
        if let Some(host) = &self.host {
            command.env("DOCKER_HOST", host);
        }
        // A program that is not for this terminal shows no progress on it.
        command.env("COMPOSE_PROGRESS", "plain");
        command
    }

    /// `docker …`
    pub(super) fn docker(&self, args: &[&str]) -> Command {
        let mut command = self.command("docker");
        command.args(args);
        command
    }

    /// `docker compose` or `docker-compose`, whichever is here.
    pub(super) fn compose(&self) -> Command {
        let (program, more) = self
            .compose
            .split_first()
            .unwrap_or((&"docker-compose", &[]));
        let mut command = self.command(program);
        command.args(more);
        command
    }

    fn wait(&self) -> Result {
        let until = Instant::now() + Duration::from_secs(60);
        while output(&mut self.docker(&["info"])).is_err() {
            if Instant::now() > until {
                return fail("the engine that was started does not answer");
            }
            nap(Duration::from_millis(200))?;
        }
        Ok(())
    }
}

fn install_compose() -> Result {
    if output(Command::new("docker").args(["compose", "version"])).is_err()
        && envs::which("docker-compose").is_none()
    {
        servers::install(&["docker-compose"])?;
    }
    Ok(())
}

fn compose() -> &'static [&'static str] {
    if output(Command::new("docker").args(["compose", "version"])).is_ok() {
        &["docker", "compose"]
    } else {
        &["docker-compose"]
    }
}

/// Images stay in the target folder from one run to the next; a socket's path has to be short.
fn start() -> Result<(Group, TempDir, String)> {
    println!("no engine runs here: starting one");
    let folder = fresh_folder("engine-")?;
    let kept = runtimes::folder().join("engine");
    std::fs::create_dir_all(&kept)?;
    let host = format!("unix://{}", folder.path().join("docker.sock").display());
    let log = std::fs::File::create(kept.join("log"))?;
    let mut command = Command::new("dockerd");
    command
        .args(["--host", &host])
        .arg("--data-root")
        .arg(kept.join("data"))
        .arg("--exec-root")
        .arg(folder.path().join("exec"))
        .arg("--pidfile")
        .arg(folder.path().join("pid"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok((Group::spawn(&mut command)?, folder, host))
}
