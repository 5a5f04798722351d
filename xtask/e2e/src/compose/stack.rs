//! The services of docker-compose.yml and its companions, as a separate compose project on free ports.

use super::engine::Engine;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask_fixtures::servers::free_port;
use xtask_kit::cmd::{Result, fail, nap, output};

/// The companions for two of each service and three brokers, with monitoring.
const SCALE: [&str; 3] = [
    "deploy/compose.proxy.yml",
    "deploy/compose.scale.yml",
    "deploy/compose.observe.yml",
];
/// The rate limits are off: to them, load from one machine looks like password guessing.
const BASE: &str = r#"services:
  identity-service:
    environment:
      IDENTITY__RATE_LIMITS__ENABLED: "false"
  worksession-service:
    environment:
      WORKSESSION__RATE_LIMITS__ENABLED: "false"
"#;
/// The same for the replicas, with ports through which tests reach them without the proxy.
const SCALED: &str = r#"services:
  identity-service-2:
    environment:
      IDENTITY__RATE_LIMITS__ENABLED: "false"
    ports: ["127.0.0.1:${SECOND_IDENTITY_PORT}:8080"]
  worksession-service-2:
    environment:
      WORKSESSION__RATE_LIMITS__ENABLED: "false"
    ports: ["127.0.0.1:${SECOND_WORKSESSION_PORT}:8090"]
"#;

/// The variable with the address of the tokens' issuer.
const BASE_URL: &str = "HOLDFAST_IDENTITY_BASE_URL";

/// A running compose project. Dropping it removes everything, volumes included.
pub(super) struct Stack<'a> {
    engine: &'a Engine,
    project: String,
    variables: Vec<(String, String)>,
    folder: TempDir,
    companions: Companions,
}

/// The compose files that are added to docker-compose.yml.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Companions {
    Nothing,
    Scale,
    Production,
}

impl<'a> Stack<'a> {
    /// Creates a project, not started yet. `number` gives it addresses of its own.
    pub(super) fn new(engine: &'a Engine, images: &[(String, String)], number: u8) -> Result<Self> {
        let mut variables = images.to_vec();
        let names = [
            "HOLDFAST_IDENTITY_PORT",
            "HOLDFAST_WORKSESSION_PORT",
            "HOLDFAST_IDENTITY_PROXY_PORT",
            "HOLDFAST_WORKSESSION_PROXY_PORT",
            "HOLDFAST_PROMETHEUS_PORT",
            "HOLDFAST_HTTP_PORT",
            "HOLDFAST_HTTPS_PORT",
            "SECOND_IDENTITY_PORT",
            "SECOND_WORKSESSION_PORT",
        ];
        for name in names {
            variables.push((name.to_owned(), free_port()?.to_string()));
        }
        // The issuer of the tokens stays the same, whatever the ports.
        variables.push((BASE_URL.into(), "http://127.0.0.1:8080".into()));
        variables.push(("HOLDFAST_NET".into(), format!("172.30.{}", 90 + number)));
        let stack = Self {
            engine,
            project: format!("holdfaste2e{number}"),
            variables,
            folder: tempfile::tempdir()?,
            companions: Companions::Nothing,
        };
        stack.write_overrides()?;
        output(stack.compose().args(DOWN))?;
        Ok(stack)
    }

    fn write_overrides(&self) -> Result {
        std::fs::write(self.folder.path().join("base.yml"), BASE)?;
        std::fs::write(self.folder.path().join("scaled.yml"), SCALED)?;
        Ok(())
    }

    /// Returns `docker-compose` for this project.
    pub(super) fn compose(&self) -> Command {
        let mut command = self.engine.compose();
        command.args(["--project-name", &self.project]);
        let is_own = |name: &str| name != BASE_URL || self.companions != Companions::Production;
        for (name, value) in self.variables.iter().filter(|(name, _)| is_own(name)) {
            command.env(name, value);
        }
        let own = |name: &str| self.folder.path().join(name).display().to_string();
        let mut files = vec!["docker-compose.yml".to_owned(), own("base.yml")];
        match self.companions {
            Companions::Nothing => {}
            Companions::Scale => {
                files.extend(SCALE.map(str::to_owned));
                files.push(own("scaled.yml"));
            }
            Companions::Production => {
                // The env file names the compose files itself.
                command.arg("--env-file").arg(self.env_file());
                files.clear();
            }
        }
        for file in files {
            command.args(["--file", &file]);
        }
        command
    }

    /// Sets the variables of this project for scripts that call docker-compose themselves.
    pub(super) fn name_in(&self, command: &mut Command) {
        command.env("COMPOSE_PROJECT_NAME", &self.project);
        command.env("COMPOSE_FILE", "docker-compose.yml");
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        let compose = self.engine.compose();
        let words = std::iter::once(compose.get_program()).chain(compose.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        command.env("COMPOSE", words.join(" "));
    }

    /// Uses two of each service and three brokers from now on.
    pub(super) fn scale(&mut self) {
        self.companions = Companions::Scale;
    }

    /// Uses the production companion from now on, with these variables in the file that is made from the example.
    pub(super) fn produce(&mut self, variables: &str) -> Result {
        self.companions = Companions::Production;
        Ok(std::fs::write(self.env_file(), variables)?)
    }

    fn env_file(&self) -> PathBuf {
        self.folder.path().join("production.env")
    }

    /// Uses another version of the product's images from now on.
    pub(super) fn use_tag(&mut self, tag: &str) {
        self.variables.push(("HOLDFAST_TAG".into(), tag.into()));
    }

    /// Changes the value of a variable from now on.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.into(), value.into()));
    }

    pub(super) fn build(&self) -> Result {
        output(self.compose().arg("build")).map(drop)
    }

    /// Starts these services and their dependencies.
    pub(super) fn up(&self, services: &[&str]) -> Result {
        output(self.compose().args(["up", "-d"]).args(services)).map(drop)
    }

    /// Returns `http://127.0.0.1:PORT` for the port in a variable.
    pub(super) fn address(&self, variable: &str) -> Result<String> {
        Ok(format!("http://127.0.0.1:{}", self.port(variable)?))
    }

    /// Returns the port in a variable.
    pub(super) fn port(&self, variable: &str) -> Result<&str> {
        let mut found = self.variables.iter().rev();
        match found.find(|(name, _)| name == variable) {
            Some((_, port)) => Ok(port),
            None => fail(format!("{variable} is not set")),
        }
    }

    /// Returns the container of a service.
    pub(super) fn container(&self, service: &str) -> Result<String> {
        let id = output(self.compose().args(["ps", "-q", service]))?;
        match id.lines().next() {
            Some(id) => Ok(id.trim().to_owned()),
            None => fail(format!("{service} has no container")),
        }
    }

    /// Runs `docker VERB … CONTAINER`.
    pub(super) fn docker(&self, args: &[&str], service: &str) -> Result {
        let container = self.container(service)?;
        output(self.engine.docker(args).arg(container)).map(drop)
    }

    /// Runs a command in the container of a service, and returns its output.
    pub(super) fn exec(&self, service: &str, command: &[&str]) -> Result<String> {
        let container = self.container(service)?;
        output(self.engine.docker(&["exec", &container]).args(command))
    }

    /// Returns the rows of a query, in psql's unaligned format.
    pub(super) fn rows(&self, database: &str, query: &str) -> Result<Vec<String>> {
        let asked = ["psql", "-X", "-U", "postgres", "-At", database, "-c", query];
        let answer = self.exec("postgres", &asked)?;
        Ok(answer.lines().map(str::to_owned).collect())
    }

    /// Waits until the engine reports these services as healthy.
    pub(super) fn wait_healthy(&self, services: &[&str], patience: Duration) -> Result {
        let until = Instant::now() + patience;
        for service in services {
            loop {
                let container = self.container(service)?;
                let asked = [
                    "inspect",
                    "--format",
                    "{{.State.Health.Status}}",
                    &container,
                ];
                let state = output(&mut self.engine.docker(&asked))?;
                if state.trim() == "healthy" {
                    break;
                }
                if Instant::now() > until {
                    let logs =
                        output(&mut self.engine.docker(&["logs", "--tail", "20", &container]));
                    return fail(format!(
                        "{service} is {}: {}",
                        state.trim(),
                        logs.unwrap_or_default()
                    ));
                }
                nap(Duration::from_millis(200))?;
            }
        }
        Ok(())
    }

    /// Fails unless a service has logged this text.
    pub(super) fn says(&self, service: &str, wanted: &str) -> Result {
        let mut command = self.compose();
        let logs = output(command.args(["logs", "--no-color", service]))?;
        if logs.contains(wanted) {
            return Ok(());
        }
        fail(format!("{service} did not log {wanted:?}: {logs}"))
    }

    /// Prints the last lines of all logs after a failure.
    pub(super) fn print_logs(&self) {
        let mut command = self.compose();
        command.args(["logs", "--tail", "40", "--no-color"]);
        match output(&mut command) {
            Ok(logs) => println!("{logs}"),
            Err(failure) => println!("cannot read the logs of the containers: {failure}"),
        }
    }

    /// Removes the containers, networks and volumes of the project.
    pub(super) fn down(&self) -> Result {
        output(self.compose().args(DOWN)).map(drop)
    }
}

const DOWN: [&str; 5] = ["down", "--volumes", "--remove-orphans", "--timeout", "5"];

impl Drop for Stack<'_> {
    fn drop(&mut self) {
        if let Err(failure) = self.down() {
            println!("{}: {failure}", self.project);
        }
    }
}
