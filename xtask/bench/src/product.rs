//! The product as the benches run it, and people who use it.

use super::load::Shot;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use xtask_kit::chat::{Chat, DIGITS, MARK};
use xtask_kit::cmd::{Result, fail};
use xtask_kit::http::Client;
use xtask_kit::servers::{Postgres, PrivateRabbit};
use xtask_kit::system::{self, LOCAL_HOOKS, PARTS, Program};

/// A running product, and what it stands on.
pub(super) struct System {
    pub(super) identity: String,
    pub(super) worksession: String,
    /// The databases of the services, by the part's name.
    pub(super) databases: BTreeMap<&'static str, String>,
    // Dropped in this order: the product before its servers.
    programs: BTreeMap<&'static str, Program>,
    _postgres: Option<Postgres>,
    rabbit: Option<PrivateRabbit>,
}

const INTERVAL: &str = "NOTIFIER__CHAT__INTERVAL_MS";

/// No limits, and passwords that cost nothing: neither is what is measured.
const SETTINGS: [(&str, &str); 4] = [
    ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
    ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
    ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
    ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
];

impl System {
    /// One process, and hooks that take a message every `interval_ms`.
    pub(super) fn standalone(folder: &Path, interval_ms: u32) -> Result<Self> {
        let mut command = system::holdfast(true, &folder.join("data"));
        command
            .envs(SETTINGS)
            .env(INTERVAL, interval_ms.to_string());
        let program = Program::start(&mut command, &PARTS, &folder.join("log"))?;
        Ok(Self {
            identity: program.address("identity")?.to_owned(),
            worksession: program.address("worksession")?.to_owned(),
            databases: BTreeMap::new(),
            programs: BTreeMap::from([("holdfast", program)]),
            _postgres: None,
            rabbit: None,
        })
    }

    /// Three processes with servers of their own, and hooks that take a message every `interval_ms`.
    pub(super) fn services(folder: &Path, interval_ms: u32) -> Result<Self> {
        let postgres = Postgres::durable()?;
        let rabbit = PrivateRabbit::installed()?;
        let (mut programs, mut databases) = (BTreeMap::new(), BTreeMap::new());
        let mut addresses = BTreeMap::new();
        for (part, binary) in [
            ("identity", "identity-service"),
            ("worksession", "worksession-service"),
            ("notifier", "notifier"),
        ] {
            let key = |name: &str| format!("{}__{name}", part.to_uppercase());
            let database = postgres.make_database(part)?;
            let mut command = Command::new(system::binary(true, binary));
            command
                .arg("serve")
                .envs(LOCAL_HOOKS)
                .envs(SETTINGS)
                .env(INTERVAL, interval_ms.to_string())
                .env(key("LISTEN"), "127.0.0.1:0")
                .env(key("DATABASE__URL"), &database)
                .env(key("BROKER__URL"), &rabbit.url)
                // One folder: the keys that nobody configured are made there once, for all three.
                .env(key("DATA_DIR"), folder.join("data"));
            if let Some(identity) = addresses.get("identity") {
                command.env("WORKSESSION__IDENTITY_URL", identity);
            }
            let program =
                Program::start(&mut command, &[part], &folder.join(format!("{part}.log")))?;
            addresses.insert(part, program.address(part)?.to_owned());
            programs.insert(part, program);
            databases.insert(part, database);
        }
        let address = |part: &str| addresses.get(part).cloned().unwrap_or_default();
        Ok(Self {
            identity: address("identity"),
            worksession: address("worksession"),
            databases,
            programs,
            _postgres: Some(postgres),
            rabbit: Some(rabbit),
        })
    }

    pub(super) fn broker(&mut self) -> Result<&mut PrivateRabbit> {
        match &mut self.rabbit {
            Some(rabbit) => Ok(rabbit),
            None => fail("no broker"),
        }
    }

    /// Megabytes that a service holds in memory.
    pub(super) fn resident_mb(&mut self, part: &str) -> Result<f64> {
        match self.programs.get_mut(part) {
            Some(program) => system::resident_mb(program.process().id()),
            None => fail(format!("no {part}")),
        }
    }
}

/// People on one team with many projects, each of which tells its own hook.
pub(super) struct Crowd {
    pub(super) tokens: Vec<String>,
    /// As they stand in a start: `team_N`.
    pub(super) projects: Vec<String>,
}

impl Crowd {
    /// Makes `users` users, a team of them all, and `projects` projects with a hook each.
    pub(super) fn gather(
        system: &System,
        chat: &Chat,
        users: usize,
        projects: usize,
    ) -> Result<Self> {
        let mut tokens = Vec::new();
        let mut owner = Client::new(&system.identity, "");
        let mut team = Value::Null;
        for n in 0..users {
            let name = format!("bench-user-{n}");
            let login = json!({"username": name, "password": "correct horse"});
            let pair =
                Client::new(&system.identity, "").call("POST", "/api/auth/register", &login)?;
            let token = text(&pair, "/access_token")?;
            if n == 0 {
                owner.use_token(&token);
                let made = json!({"name": "Bench", "slug": "bench"});
                team = field(&owner.call("POST", "/api/teams", &made)?, "/team/id")?;
            } else {
                owner.call(
                    "POST",
                    "/api/teams/bench/members",
                    &json!({"username": name}),
                )?;
            }
            tokens.push(token);
        }
        let first = tokens.first().map_or("", String::as_str);
        let mut planner = Client::new(&system.worksession, first);
        let mut made = Vec::new();
        for n in 0..projects {
            let project =
                json!({"team_id": team, "name": format!("Project {n}"), "chat_channel": "#bench"});
            let id = field(
                &planner.call("POST", "/api/team-projects", &project)?,
                "/id",
            )?;
            let hook = json!({"provider": "slack", "webhook_url": format!("http://127.0.0.1:{}/hook/{n}", chat.port)});
            planner.call("PUT", &format!("/api/team-projects/{id}/chat"), &hook)?;
            made.push(format!("team_{id}"));
        }
        Ok(Self {
            tokens,
            projects: made,
        })
    }

    /// Starts, each with a number of its own: `from` and those after it.
    pub(super) fn starts(&self, from: usize, count: usize) -> Vec<Shot> {
        let who = self.tokens.iter().cycle();
        let what = self.projects.iter().cycle();
        let shots = (from..from + count).zip(who).zip(what);
        let shots = shots.map(|((n, token), project)| Shot {
            token: token.clone(),
            method: "POST",
            path: "/api/clienta_timer_start",
            body: json!({
                "category": "coding",
                "duration": 25,
                "project_id": project,
                "note": format!("{MARK}{n:0DIGITS$}"),
            })
            .to_string(),
        });
        shots.collect()
    }
}

fn field(answer: &Value, pointer: &str) -> Result<Value> {
    match answer.pointer(pointer) {
        Some(value) => Ok(value.clone()),
        None => fail(format!("an answer without {pointer}: {answer}")),
    }
}

fn text(answer: &Value, pointer: &str) -> Result<String> {
    Ok(field(answer, pointer)?
        .as_str()
        .unwrap_or_default()
        .to_owned())
}
