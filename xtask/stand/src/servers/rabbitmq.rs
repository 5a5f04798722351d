//! A RabbitMQ broker with a virtual host for the tests.

use super::restricted::RestrictedVhost;
use super::{Source, apt, free_port};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask_kit::cmd::{ProcessGroup, Result, fail, output, wait_until};
use xtask_kit::envs;

const VARIABLE: &str = "HOLDFAST_TEST_AMQP";
const SET_IT: &str = "set HOLDFAST_TEST_AMQP to a broker and a virtual host for tests, such as amqp://guest:guest@127.0.0.1:5672/holdfast-test";

/// A broker, with what this tool created or started and undoes on drop.
pub struct Rabbit {
    /// `amqp://USER:PASSWORD@HOST:PORT/VHOST`
    pub url: String,
    /// A virtual host with the users and permissions of production, if it could be created.
    pub(super) restricted: Option<RestrictedVhost>,
    _vhost: Option<Vhost>,
    _private: Option<PrivateRabbit>,
}

impl Rabbit {
    /// Obtains a broker from this source.
    pub fn obtain(source: Source) -> Result<Self> {
        if source.includes(Source::Named)
            && let Some(url) = envs::var(VARIABLE)
        {
            // This virtual host was chosen for the tests; they still use names of their own in it.
            println!("RabbitMQ: {VARIABLE}");
            return Ok(Self::elsewhere(url, None));
        }
        if source.includes(Source::Found)
            && let Some(found) = Self::found()
        {
            return Ok(found);
        }
        if source.includes(Source::Private)
            && let Some(program) = program()
        {
            return Self::private(&program);
        }
        if source.includes(Source::Install)
            && let Some(program) = apt::obtain(program, "rabbitmq-server")?
        {
            return Self::private(&program);
        }
        fail(format!("no RabbitMQ: {SET_IT}"))
    }

    fn elsewhere(url: String, vhost: Option<Vhost>) -> Self {
        Self {
            url,
            restricted: None,
            _vhost: vhost,
            _private: None,
        }
    }

    /// Looks for a broker on the usual port, on which a virtual host can be created.
    fn found() -> Option<Self> {
        if !greets(5672) {
            return None;
        }
        let vhost = Vhost::make().map_err(|e| {
            println!("RabbitMQ: found on 127.0.0.1:5672, but creating a virtual host failed ({e})");
        });
        let vhost = vhost.ok()?;
        let url = format!("amqp://guest:guest@127.0.0.1:5672/{}", vhost.name);
        println!("RabbitMQ: found, {url}");
        let restricted = RestrictedVhost::make("127.0.0.1:5672", control, true);
        let restricted = restricted.map_err(|e| println!("RabbitMQ: no restricted users: {e}"));
        Some(Self {
            restricted: restricted.ok(),
            ..Self::elsewhere(url, Some(vhost))
        })
    }

    fn private(program: &Path) -> Result<Self> {
        let private = PrivateRabbit::start(program)?;
        let address = format!("127.0.0.1:{}", private.ports.amqp);
        let control = |args: &[&str]| private.control(args).map(drop);
        Ok(Self {
            url: private.url.clone(),
            restricted: Some(RestrictedVhost::make(&address, control, false)?),
            _vhost: None,
            _private: Some(private),
        })
    }
}

/// A private broker, with its own folder, ports and port mapper.
pub struct PrivateRabbit {
    /// `amqp://guest:guest@127.0.0.1:PORT`
    pub url: String,
    program: PathBuf,
    ports: Ports,
    // Dropped in this order: the broker before the port mapper it registered with.
    process: Option<ProcessGroup>,
    _epmd: Option<ProcessGroup>,
    folder: TempDir,
}

impl PrivateRabbit {
    /// Starts a broker from this machine's programs, which are installed first if they are missing.
    pub fn installed() -> Result<Self> {
        match apt::obtain(program, "rabbitmq-server")? {
            Some(program) => Self::start(&program),
            None => fail("no RabbitMQ programs on this machine"),
        }
    }

    fn start(program: &Path) -> Result<Self> {
        let folder = crate::fresh_folder("holdfast-rabbitmq-")?;
        let ports = Ports {
            amqp: free_port()?,
            dist: free_port()?,
            epmd: free_port()?,
        };
        let mut rabbit = Self {
            url: format!("amqp://guest:guest@127.0.0.1:{}", ports.amqp),
            program: program.to_path_buf(),
            // Without it, the broker starts one that outlives it.
            _epmd: epmd(ports.epmd)?,
            process: None,
            ports,
            folder,
        };
        let started = Instant::now();
        rabbit.resume()?;
        println!(
            "RabbitMQ: private broker from {} on port {}, ready after {:.1} s",
            program.display(),
            rabbit.ports.amqp,
            started.elapsed().as_secs_f64()
        );
        Ok(rabbit)
    }

    /// Kills the broker. Its queues stay in its folder.
    pub fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            process.signal("KILL");
        }
        self.process = None;
    }

    /// Stops the broker. Its queues stay in its folder.
    pub fn stop(&mut self) {
        if let Some(process) = &mut self.process {
            process.stop(Duration::from_secs(30));
        }
        self.process = None;
    }

    /// Returns each queue with the number of its messages, unacknowledged ones included.
    pub fn queues(&self) -> Result<Vec<(String, u64)>> {
        let listed = self.control(&["list_queues", "name", "messages"])?;
        let queues = listed.lines().filter_map(|line| {
            let (name, messages) = line.split_once('\t')?;
            Some((name.to_owned(), messages.trim().parse().ok()?))
        });
        Ok(queues.collect())
    }

    /// Raises or clears the broker's memory alarm. While it is raised, the broker accepts no message.
    pub fn set_memory_alarm(&self, on: bool) -> Result {
        let limit: &[&str] = if on { &["absolute", "1"] } else { &["0.6"] };
        self.control(&[&["set_vm_memory_high_watermark"], limit].concat())?;
        wait_until(
            Duration::from_secs(30),
            Duration::from_millis(200),
            "the broker's memory alarm does not change",
            || {
                let alarms = self.control(&["eval", "rabbit_alarm:get_alarms()."])?;
                Ok((alarms.trim() != "[]") == on)
            },
        )
    }

    fn control(&self, args: &[&str]) -> Result<String> {
        let program = self.program.with_file_name("rabbitmqctl");
        let mut command = command(&program, self.folder.path(), &self.ports)?;
        output(command.arg("--quiet").args(args))
    }

    /// Starts the broker, initially or again.
    pub fn resume(&mut self) -> Result {
        let log = self.folder.path().join("log");
        let mut command = command(&self.program, self.folder.path(), &self.ports)?;
        let process = ProcessGroup::spawn(ProcessGroup::into_log(&mut command, &log)?)?;
        let process = self.process.insert(process);
        process.wait_answering("the private RabbitMQ", &log, || greets(self.ports.amqp))
    }
}

/// Whether a broker answers on this local port: its first frame is a method frame (type 1).
fn greets(port: u16) -> bool {
    let greet = || -> Result<[u8; 1]> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"AMQP\x00\x00\x09\x01")?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        Ok(first)
    };
    greet().is_ok_and(|first| first == [1])
}

struct Ports {
    amqp: u16,
    dist: u16,
    epmd: u16,
}

fn command(program: &Path, folder: &Path, ports: &Ports) -> Result<Command> {
    let config = folder.join("rabbitmq.conf");
    std::fs::write(
        &config,
        "loopback_users.guest = true\ndisk_free_limit.absolute = 50MB\n",
    )?;
    let plugins = folder.join("enabled_plugins");
    std::fs::write(&plugins, "[].\n")?;
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        // Erlang keeps its cookie and other files there.
        .env("HOME", folder)
        .env("RABBITMQ_NODENAME", format!("holdfast-{}@localhost", ports.amqp))
        .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_NODE_PORT", ports.amqp.to_string())
        .env("RABBITMQ_DIST_PORT", ports.dist.to_string())
        .env("ERL_EPMD_PORT", ports.epmd.to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_CONFIG_FILE", &config)
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", &plugins)
        .env("RABBITMQ_MNESIA_BASE", folder.join("mnesia"))
        .env("RABBITMQ_LOG_BASE", folder.join("logs"))
        .env("RABBITMQ_PID_FILE", folder.join("pid"));
    Ok(command)
}

/// Returns the broker's start script. Debian's wrapper in `PATH` changes the user, and with it the folders.
fn program() -> Option<PathBuf> {
    let debian = PathBuf::from("/usr/lib/rabbitmq/bin/rabbitmq-server");
    let found = || envs::which("rabbitmq-server");
    Some(debian).filter(|path| path.is_file()).or_else(found)
}

/// Starts Erlang's port mapper on this port, if it is installed.
fn epmd(port: u16) -> Result<Option<ProcessGroup>> {
    let Some(program) = envs::which("epmd") else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(["-address", "127.0.0.1", "-port", &port.to_string()]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    ProcessGroup::spawn(&mut command).map(Some)
}

/// A virtual host on the local broker, created with `rabbitmqctl` and removed on drop.
struct Vhost {
    name: String,
}

impl Vhost {
    fn make() -> Result<Self> {
        let name = format!("holdfast-test-{}", std::process::id());
        control(&["add_vhost", &name])?;
        let vhost = Self { name };
        control(&[
            "set_permissions",
            "--vhost",
            &vhost.name,
            "guest",
            ".*",
            ".*",
            ".*",
        ])?;
        Ok(vhost)
    }
}

impl Drop for Vhost {
    fn drop(&mut self) {
        if let Err(e) = control(&["delete_vhost", &self.name]) {
            eprintln!("xtask: virtual host {} was not removed: {e}", self.name);
        }
    }
}

pub(super) fn control(args: &[&str]) -> Result {
    output(Command::new("rabbitmqctl").arg("--quiet").args(args)).map(drop)
}
