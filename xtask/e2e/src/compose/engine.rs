//! A Docker engine: the one that runs, or one of Debian's packages for as long as it is needed.

use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use xtask_kit::cmd::{Group, Result, output, wait_until};
use xtask_kit::envs;
use xtask_stand::fresh_folder;
use xtask_stand::{runtimes, servers};

/// An engine that answers, and the program that reads compose files.
pub(super) struct Engine {
    /// `DOCKER_HOST`, for an engine of our own.
    host: Option<String>,
    /// `docker compose`, else `docker-compose`.
    has_plugin: bool,
    _process: Option<(Group, TempDir)>,
}

impl Engine {
    /// The engine that runs, or one that is installed and started now.
    pub(super) fn obtain() -> Result<Self> {
        if output(Command::new("docker").args(["info", "--format", "{{.ServerVersion}}"])).is_ok() {
            return Ok(Self {
                host: None,
                has_plugin: install_compose()?,
                _process: None,
            });
        }
        if envs::which("dockerd").is_none() || envs::which("iptables").is_none() {
            servers::install(&["docker.io", "iptables"])?;
        }
        let has_plugin = install_compose()?;
        let (process, folder, host) = start()?;
        let engine = Self {
            host: Some(host),
            has_plugin,
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
        if self.has_plugin {
            return self.docker(&["compose"]);
        }
        self.command("docker-compose")
    }

    fn wait(&self) -> Result {
        wait_until(
            Duration::from_secs(60),
            Duration::from_millis(200),
            "the engine that was started does not answer",
            || Ok(output(&mut self.docker(&["info"])).is_ok()),
        )
    }
}

/// Installs what reads compose files where nothing does, and says whether it is a part of `docker`.
fn install_compose() -> Result<bool> {
    let has_plugin = output(Command::new("docker").args(["compose", "version"])).is_ok();
    if !has_plugin && envs::which("docker-compose").is_none() {
        servers::install(&["docker-compose"])?;
    }
    Ok(has_plugin)
}

/// Images stay in the target folder from one run to the next; a socket's path has to be short.
fn start() -> Result<(Group, TempDir, String)> {
    println!("no engine runs here: starting one");
    let folder = fresh_folder("engine-")?;
    let kept = runtimes::folder().join("engine");
    std::fs::create_dir_all(&kept)?;
    let host = format!("unix://{}", folder.path().join("docker.sock").display());
    let mut command = Command::new("dockerd");
    command
        .args(["--host", &host])
        .arg("--data-root")
        .arg(kept.join("data"))
        .arg("--exec-root")
        .arg(folder.path().join("exec"))
        .arg("--pidfile")
        .arg(folder.path().join("pid"));
    let group = Group::spawn(Group::into_log(&mut command, &kept.join("log"))?)?;
    Ok((group, folder, host))
}
