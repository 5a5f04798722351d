//! The Docker engine: a running one, or one from Debian's packages that runs during the test.

use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::{servers, third_party};
use xtask_kit::cmd::{ProcessGroup, Result, output, wait_until};
use xtask_kit::env_vars;

/// A Docker engine, with the program that reads compose files.
pub(super) struct Engine {
    /// `DOCKER_HOST`, if this tool started the engine.
    host: Option<String>,
    /// Whether compose is `docker compose` rather than `docker-compose`.
    has_plugin: bool,
    _process: Option<(ProcessGroup, TempDir)>,
}

impl Engine {
    /// Returns the running engine, or installs and starts one.
    pub(super) fn obtain() -> Result<Self> {
        if output(Command::new("docker").args(["info", "--format", "{{.ServerVersion}}"])).is_ok() {
            return Ok(Self {
                host: None,
                has_plugin: install_compose()?,
                _process: None,
            });
        }
        if env_vars::which("dockerd").is_none() || env_vars::which("iptables").is_none() {
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

    /// Returns a program that talks to the engine, such as `docker`.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(env_vars::root());
        if let Some(host) = &self.host {
            command.env("DOCKER_HOST", host);
        }
        // The output is not for a terminal, where compose would show progress.
        command.env("COMPOSE_PROGRESS", "plain");
        command
    }

    /// Returns `docker …`.
    pub(super) fn docker(&self, args: &[&str]) -> Command {
        let mut command = self.command("docker");
        command.args(args);
        command
    }

    /// Returns `docker compose` or `docker-compose`, whichever is installed.
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
            "the Docker engine did not answer within a minute",
            || Ok(output(&mut self.docker(&["info"])).is_ok()),
        )
    }
}

/// Installs docker-compose if nothing reads compose files, and returns whether `docker compose` exists.
fn install_compose() -> Result<bool> {
    let has_plugin = output(Command::new("docker").args(["compose", "version"])).is_ok();
    if !has_plugin && env_vars::which("docker-compose").is_none() {
        servers::install(&["docker-compose"])?;
    }
    Ok(has_plugin)
}

/// Starts an engine. Its images stay in the target folder between runs; its socket needs a short path.
fn start() -> Result<(ProcessGroup, TempDir, String)> {
    println!("no Docker engine is running: starting one");
    let folder = fresh_folder("engine-")?;
    let kept = third_party::folder().join("engine");
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
    let group = ProcessGroup::spawn(ProcessGroup::into_log(&mut command, &kept.join("log"))?)?;
    Ok((group, folder, host))
}
