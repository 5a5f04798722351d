//! The product and its servers: three processes, PostgreSQL, RabbitMQ, a chat and a mail server. Each process reaches its
//! database and the broker through a line that can break.

use super::chat::Chat;
use super::mail::Mail;
use super::service::Service;
use super::tcp_proxy::TcpProxy;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::lock;
use xtask_fixtures::servers::{Postgres, PrivateRabbit, free_port};
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system::{self, UNLIMITED};

/// One of the three processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProductPart {
    Identity,
    Worksession,
    Notifier,
}

impl ProductPart {
    pub(super) const ALL: [Self; 3] = [Self::Identity, Self::Worksession, Self::Notifier];

    pub(super) fn name(self) -> &'static str {
        self.binary().trim_end_matches("-service")
    }

    pub(super) fn binary(self) -> &'static str {
        match self {
            Self::Identity => "identity-service",
            Self::Worksession => "worksession-service",
            Self::Notifier => "notifier",
        }
    }
}

/// A part with its lines.
pub(super) struct Member {
    part: ProductPart,
    pub(super) service: Mutex<Service>,
    address: String,
    /// The URL of the database, bypassing the line.
    database: String,
    pub(super) to_database: TcpProxy,
    pub(super) to_broker: TcpProxy,
}

/// The product and its servers.
pub(super) struct FaultEnvironment {
    // Dropped in this order: the product before its servers.
    members: Vec<Member>,
    pub(super) postgres: Mutex<Postgres>,
    pub(super) rabbit: Mutex<PrivateRabbit>,
    pub(super) chat: Chat,
    pub(super) mail: Mail,
    folder: TempDir,
    release: bool,
}

/// Chats accept many messages a second, and the mail server has a short timeout: the run checks what is lost, not how long
/// anything takes.
const SETTINGS: [(&str, &str); 3] = [
    ("NOTIFIER__CHAT__INTERVAL_MS", "50"),
    ("NOTIFIER__SMTP__TIMEOUT_SECONDS", "3"),
    ("RUST_LOG", "info"),
];

impl FaultEnvironment {
    pub(super) fn start(seed: u64, release: bool) -> Result<Self> {
        let postgres = Postgres::durable()?;
        let rabbit = PrivateRabbit::installed()?;
        let folder = fresh_folder("holdfast-faults-")?;
        let mut env = Self {
            members: Vec::new(),
            postgres: Mutex::new(postgres),
            rabbit: Mutex::new(rabbit),
            chat: Chat::start(seed)?,
            mail: Mail::start("127.0.0.1")?,
            folder,
            release,
        };
        for part in ProductPart::ALL {
            let member = env.make_member(part)?;
            lock(&member.service).start()?;
            env.members.push(member);
        }
        Ok(env)
    }

    fn make_member(&self, part: ProductPart) -> Result<Member> {
        let database = lock(&self.postgres).make_database(part.name())?;
        let amqp = lock(&self.rabbit).url.clone();
        let (login, server) = split(&database)?;
        let (server, name) = server.split_once('/').unwrap_or((server, ""));
        let to_database = TcpProxy::to(server)?;
        let (broker_login, broker) = split(&amqp)?;
        let to_broker = TcpProxy::to(broker)?;
        let port = free_port()?;
        // One folder for all three: keys that are not configured are created there once.
        let data = self.folder.path().join("data");
        let mut command = system::serve(self.release, part.binary(), &data);
        let key = |name: &str| system::key(part.name(), name);
        command
            .envs(UNLIMITED)
            .envs(SETTINGS)
            .env(key("LISTEN"), format!("127.0.0.1:{port}"))
            .env(
                key("DATABASE__URL"),
                format!("{login}@127.0.0.1:{}/{name}", to_database.port),
            )
            .env(
                key("BROKER__URL"),
                format!("{broker_login}@127.0.0.1:{}", to_broker.port),
            )
            .env(
                "NOTIFIER__SMTP__URL",
                format!("smtp://127.0.0.1:{}", self.mail.port),
            );
        if let Some(identity) = self.members.first() {
            command.env("WORKSESSION__IDENTITY_URL", &identity.address);
        }
        Ok(Member {
            part,
            service: Mutex::new(Service::new(part.name(), command, self.log(part))),
            address: format!("http://127.0.0.1:{port}"),
            database,
            to_database,
            to_broker,
        })
    }

    pub(super) fn member(&self, part: ProductPart) -> Result<&Member> {
        match self.members.iter().find(|member| member.part == part) {
            Some(member) => Ok(member),
            None => fail(format!("{} was not started", part.name())),
        }
    }

    /// Returns the log file of a part.
    pub(super) fn log(&self, part: ProductPart) -> PathBuf {
        self.folder.path().join(format!("{}.log", part.name()))
    }

    pub(super) fn address(&self, part: ProductPart) -> Result<&str> {
        Ok(&self.member(part)?.address)
    }

    /// Returns the rows of a query in a part's database.
    pub(super) fn rows(&self, part: ProductPart, sql: &str) -> Result<Vec<Vec<String>>> {
        Postgres::rows(&self.member(part)?.database, sql)
    }

    /// Returns a command of a part's own program on its database, bypassing the line.
    pub(super) fn command(&self, part: ProductPart, args: &[&str]) -> Result<Command> {
        let mut command = Command::new(system::binary(self.release, part.binary()));
        let key = |name: &str| system::key(part.name(), name);
        command
            .args(args)
            .env(key("DATABASE__URL"), &self.member(part)?.database)
            .env(key("DATA_DIR"), self.folder.path().join("data"));
        Ok(command)
    }

    /// Fails if a service ended without being killed.
    pub(super) fn must_be_alive(&self) -> Result {
        for member in &self.members {
            lock(&member.service).must_be_alive()?;
        }
        Ok(())
    }

    /// Returns how many starts of services failed because a server was down.
    pub(super) fn failed_starts(&self) -> usize {
        let members = self.members.iter();
        members
            .map(|member| lock(&member.service).failed_starts)
            .sum()
    }

    /// Copies the logs of a failed run to a permanent folder, and returns it.
    pub(super) fn keep_logs(&self) -> Result<PathBuf> {
        let kept = xtask_kit::env_vars::target_dir().join("e2e/faults");
        std::fs::create_dir_all(&kept)?;
        for part in ProductPart::ALL {
            std::fs::copy(self.log(part), kept.join(format!("{}.log", part.name())))?;
        }
        Ok(kept)
    }
}

/// Splits a URL at its `@`.
fn split(url: &str) -> Result<(&str, &str)> {
    match url.split_once('@') {
        Some(sides) => Ok(sides),
        None => fail(format!("a URL without a login: {url}")),
    }
}
