//! The product on its servers: three processes, PostgreSQL, RabbitMQ, a chat and a mail server, and a line
//! between each process and each server.

use super::chat::Chat;
use super::line::Line;
use super::mail::Mail;
use super::service::{self, Service};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system::{self, LOCAL_HOOKS, PARTS};
use xtask_stand::fresh_folder;
use xtask_stand::lock;
use xtask_stand::servers::{Postgres, PrivateRabbit, free_port};

/// One of the three processes, by its place in [`PARTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Identity,
    Worksession,
    Notifier,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Identity, Self::Worksession, Self::Notifier];

    pub(super) fn name(self) -> &'static str {
        let [identity, worksession, notifier] = PARTS;
        match self {
            Self::Identity => identity,
            Self::Worksession => worksession,
            Self::Notifier => notifier,
        }
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
struct Member {
    part: Part,
    service: Mutex<Service>,
    address: String,
    /// Straight to the server, past the line.
    database: String,
    to_database: Line,
    to_broker: Line,
}

/// Everything that runs.
pub(super) struct Stand {
    // Dropped in this order: the product before its servers.
    members: Vec<Member>,
    pub(super) postgres: Mutex<Postgres>,
    pub(super) rabbit: Mutex<PrivateRabbit>,
    pub(super) chat: Chat,
    pub(super) mail: Mail,
    folder: TempDir,
    release: bool,
}

/// No limits, passwords that cost nothing, chats that take many messages a second, and a mail server that is not
/// waited for long: what is looked at is what is lost, not how long it takes.
const SETTINGS: [(&str, &str); 7] = [
    ("NOTIFIER__CHAT__INTERVAL_MS", "50"),
    ("NOTIFIER__SMTP__TIMEOUT_SECONDS", "3"),
    ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
    ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
    ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
    ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
    ("RUST_LOG", "info"),
];

impl Stand {
    pub(super) fn start(seed: u64, release: bool) -> Result<Self> {
        let postgres = Postgres::durable()?;
        let rabbit = PrivateRabbit::installed()?;
        let folder = fresh_folder("holdfast-faults-")?;
        let mut stand = Self {
            members: Vec::new(),
            postgres: Mutex::new(postgres),
            rabbit: Mutex::new(rabbit),
            chat: Chat::start(seed)?,
            mail: Mail::start("127.0.0.1")?,
            folder,
            release,
        };
        for part in Part::ALL {
            let member = stand.member(part)?;
            lock(&member.service).start()?;
            stand.members.push(member);
        }
        Ok(stand)
    }

    fn member(&self, part: Part) -> Result<Member> {
        let database = lock(&self.postgres).make_database(part.name())?;
        let amqp = lock(&self.rabbit).url.clone();
        let (login, server) = split(&database)?;
        let (server, name) = server.split_once('/').unwrap_or((server, ""));
        let to_database = Line::to(server)?;
        let (broker_login, broker) = split(&amqp)?;
        let to_broker = Line::to(broker)?;
        let port = free_port()?;
        let mut command = service::command(self.release, part.binary());
        let key = |name: &str| format!("{}__{name}", part.name().to_uppercase());
        command
            .envs(LOCAL_HOOKS)
            .envs(SETTINGS)
            .env(key("LISTEN"), format!("127.0.0.1:{port}"))
            .env(key("DATABASE__URL"), format!("{login}@127.0.0.1:{}/{name}", to_database.port))
            .env(key("BROKER__URL"), format!("{broker_login}@127.0.0.1:{}", to_broker.port))
            .env("NOTIFIER__SMTP__URL", format!("smtp://127.0.0.1:{}", self.mail.port))
            // One folder: the keys that nobody configured are made there once, for all three.
            .env(key("DATA_DIR"), self.folder.path().join("data"));
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

    fn get(&self, part: Part) -> Result<&Member> {
        match self.members.iter().find(|member| member.part == part) {
            Some(member) => Ok(member),
            None => fail(format!("{} was not started", part.name())),
        }
    }

    /// Where what a part logs is written.
    pub(super) fn log(&self, part: Part) -> PathBuf {
        self.folder.path().join(format!("{}.log", part.name()))
    }

    pub(super) fn service(&self, part: Part) -> Result<&Mutex<Service>> {
        Ok(&self.get(part)?.service)
    }

    pub(super) fn address(&self, part: Part) -> Result<&str> {
        Ok(&self.get(part)?.address)
    }

    pub(super) fn to_database(&self, part: Part) -> Result<&Line> {
        Ok(&self.get(part)?.to_database)
    }

    pub(super) fn to_broker(&self, part: Part) -> Result<&Line> {
        Ok(&self.get(part)?.to_broker)
    }

    /// The rows of a query in a part's database.
    pub(super) fn rows(&self, part: Part, sql: &str) -> Result<Vec<Vec<String>>> {
        Postgres::rows(&self.get(part)?.database, sql)
    }

    /// A part's own command line on its database, past the line.
    pub(super) fn command(&self, part: Part, args: &[&str]) -> Result<Command> {
        let mut command = Command::new(system::binary(self.release, part.binary()));
        let key = |name: &str| format!("{}__{name}", part.name().to_uppercase());
        command
            .args(args)
            .env(key("DATABASE__URL"), &self.get(part)?.database)
            .env(key("DATA_DIR"), self.folder.path().join("data"));
        Ok(command)
    }

    /// Fails when a service ended without having been killed.
    pub(super) fn must_be_alive(&self) -> Result {
        for member in &self.members {
            lock(&member.service).must_be_alive()?;
        }
        Ok(())
    }

    /// Starts of services that failed because what they need was away.
    pub(super) fn failed_starts(&self) -> usize {
        let members = self.members.iter();
        members
            .map(|member| lock(&member.service).failed_starts)
            .sum()
    }

    /// Keeps the logs of a run that failed, and says where.
    pub(super) fn keep_logs(&self) -> Result<PathBuf> {
        let kept = xtask_kit::envs::target_dir().join("e2e/faults");
        std::fs::create_dir_all(&kept)?;
        for part in Part::ALL {
            std::fs::copy(self.log(part), kept.join(format!("{}.log", part.name())))?;
        }
        Ok(kept)
    }
}

/// The two sides of an URL's `@`.
fn split(url: &str) -> Result<(&str, &str)> {
    match url.split_once('@') {
        Some(sides) => Ok(sides),
        None => fail(format!("an URL without a login: {url}")),
    }
}
