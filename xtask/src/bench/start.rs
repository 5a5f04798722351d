//! Timer starts at a steady rate while what stands behind them is broken: starting must not notice,
//! and no notification may be lost.

use super::chat::{Chat, DIGITS, MARK};
use super::http::Client;
use super::load::{self, Outcome, Shot};
use crate::cmd::{Result, fail, nap};
use crate::servers::{Postgres, PrivateRabbit};
use crate::system::{self, LOCAL_HOOKS, PARTS, Program};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const USERS: usize = 60;
const PROJECTS: usize = 20;
/// What no start may take longer than, in milliseconds, for 99 of 100.
const LIMIT_MS: f64 = 200.0;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Starts in a second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Seconds
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// Seconds in which every notification must have arrived once all is well again
    #[arg(long, default_value_t = 300)]
    patience: u64,
    /// Some scenarios only
    #[arg(long)]
    only: Vec<Scenario>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    /// One process on SQLite; nothing is broken
    Standalone,
    /// One process on SQLite; the chat never answers
    StandaloneHanging,
    /// Three processes, PostgreSQL and RabbitMQ; the chat never answers
    ServicesHanging,
    /// Three processes on PostgreSQL; RabbitMQ is killed before and started after
    ServicesBrokerDown,
}

const ALL: [Scenario; 4] = [
    Scenario::Standalone,
    Scenario::StandaloneHanging,
    Scenario::ServicesHanging,
    Scenario::ServicesBrokerDown,
];

pub(crate) fn start(options: &Options) -> Result {
    system::build(
        true,
        &[
            "holdfast",
            "identity-service",
            "worksession-service",
            "notifier",
        ],
    )?;
    let mut rows = Vec::new();
    for scenario in ALL {
        if options.only.is_empty() || options.only.contains(&scenario) {
            rows.push((scenario, run(scenario, options)?));
        }
    }
    println!(
        "\n{:<20} {:>7} {:>7} {:>8} {:>8} {:>8}  {:>9} {:>6} {:>9}",
        "scenario", "starts", "201", "p50 ms", "p99 ms", "max ms", "delivered", "twice", "after s"
    );
    for (scenario, row) in &rows {
        let (p50, p99, max) = row.load.summary();
        println!(
            "{:<20} {:>7} {:>7} {p50:>8.1} {p99:>8.1} {max:>8.1}  {:>9} {:>6} {:>9.1}",
            format!("{scenario:?}"),
            row.load.latencies.len(),
            row.load.with_status(201),
            row.delivered,
            row.twice,
            row.after.as_secs_f64()
        );
    }
    let bad = rows.iter().filter(|(_, row)| !row.is_good()).count();
    if bad == 0 {
        Ok(())
    } else {
        fail(format!(
            "{bad} scenarios are over the limit or lost something"
        ))
    }
}

struct Row {
    load: Outcome,
    delivered: usize,
    twice: usize,
    /// From all being well again to the last notification.
    after: Duration,
}

impl Row {
    fn is_good(&self) -> bool {
        let started = self.load.with_status(201);
        let (_, p99, _) = self.load.summary();
        started == self.load.latencies.len() && self.delivered == started && p99 < LIMIT_MS
    }
}

fn run(scenario: Scenario, options: &Options) -> Result<Row> {
    println!("== {scenario:?}");
    let folder = tempfile::Builder::new()
        .prefix("holdfast-bench-")
        .tempdir()?;
    let chat = Chat::start()?;
    let mut system = match scenario {
        Scenario::Standalone | Scenario::StandaloneHanging => System::standalone(folder.path())?,
        Scenario::ServicesHanging | Scenario::ServicesBrokerDown => {
            System::services(folder.path())?
        }
    };
    let shots = prepare(&system, &chat, options)?;
    // The destinations travel as events of their own; they are to be there before all breaks.
    nap(Duration::from_secs(2))?;

    chat.hang(matches!(
        scenario,
        Scenario::StandaloneHanging | Scenario::ServicesHanging
    ));
    if scenario == Scenario::ServicesBrokerDown {
        system.broker()?.kill();
    }
    let load = load::fire(
        &system.worksession,
        shots,
        Duration::from_secs(1) / options.rate,
    )?;
    println!(
        "{} answers in {:.1} s: {:?}",
        load.latencies.len(),
        load.time.as_secs_f64(),
        load.statuses
    );
    chat.hang(false);
    if scenario == Scenario::ServicesBrokerDown {
        system.broker()?.resume()?;
    }
    let healed = Instant::now();
    let wanted = load.with_status(201);
    while chat.accepted().0 < wanted && healed.elapsed() < Duration::from_secs(options.patience) {
        nap(Duration::from_millis(100))?;
    }
    let after = healed.elapsed();
    let (delivered, twice) = chat.accepted();
    println!(
        "{delivered} of {wanted} notifications after {:.1} s, {} requests to the chat",
        after.as_secs_f64(),
        chat.requests()
    );
    Ok(Row {
        load,
        delivered,
        twice,
        after,
    })
}

/// A running product, and what it stands on.
struct System {
    identity: String,
    worksession: String,
    // Dropped in this order: the product before its servers.
    _programs: Vec<Program>,
    _postgres: Option<Postgres>,
    rabbit: Option<PrivateRabbit>,
}

/// No limits, passwords that cost nothing, and a chat that takes a hundred messages a second: none
/// of them is what is measured.
const SETTINGS: [(&str, &str); 5] = [
    ("NOTIFIER__CHAT__INTERVAL_MS", "10"),
    ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
    ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
    ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
    ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
];

impl System {
    fn standalone(folder: &Path) -> Result<Self> {
        let mut command = system::holdfast(true, &folder.join("data"));
        let program = Program::start(command.envs(SETTINGS), &PARTS, &folder.join("log"))?;
        Ok(Self {
            identity: program.address("identity")?.to_owned(),
            worksession: program.address("worksession")?.to_owned(),
            _programs: vec![program],
            _postgres: None,
            rabbit: None,
        })
    }

    fn services(folder: &Path) -> Result<Self> {
        let postgres = Postgres::durable()?;
        let rabbit = PrivateRabbit::installed()?;
        let mut programs = Vec::new();
        let mut addresses = BTreeMap::new();
        for (part, binary) in [
            ("identity", "identity-service"),
            ("worksession", "worksession-service"),
            ("notifier", "notifier"),
        ] {
            let key = |name: &str| format!("{}__{name}", part.to_uppercase());
            let mut command = Command::new(system::binary(true, binary));
            command
                .arg("serve")
                .envs(LOCAL_HOOKS)
                .envs(SETTINGS)
                .env(key("LISTEN"), "127.0.0.1:0")
                .env(key("DATABASE__URL"), postgres.make_database(part)?)
                .env(key("BROKER__URL"), &rabbit.url)
                // One folder: the keys that nobody configured are made there once, for all three.
                .env(key("DATA_DIR"), folder.join("data"));
            if let Some(identity) = addresses.get("identity") {
                command.env("WORKSESSION__IDENTITY_URL", identity);
            }
            let program =
                Program::start(&mut command, &[part], &folder.join(format!("{part}.log")))?;
            addresses.insert(part, program.address(part)?.to_owned());
            programs.push(program);
        }
        let address = |part: &str| addresses.get(part).cloned().unwrap_or_default();
        Ok(Self {
            identity: address("identity"),
            worksession: address("worksession"),
            _programs: programs,
            _postgres: Some(postgres),
            rabbit: Some(rabbit),
        })
    }

    fn broker(&mut self) -> Result<&mut PrivateRabbit> {
        match &mut self.rabbit {
            Some(rabbit) => Ok(rabbit),
            None => fail("no broker"),
        }
    }
}

/// Makes users, a team, projects with a hook each, and the starts to be fired.
fn prepare(system: &System, chat: &Chat, options: &Options) -> Result<Vec<Shot>> {
    let mut tokens = Vec::new();
    let mut owner = Client::new(&system.identity, "");
    let mut team = Value::Null;
    for n in 0..USERS {
        let name = format!("bench-user-{n}");
        let login = json!({"username": name, "password": "correct horse"});
        let pair = Client::new(&system.identity, "").call("POST", "/api/auth/register", &login)?;
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
    let mut planner = Client::new(
        &system.worksession,
        tokens.first().map_or("", String::as_str),
    );
    let mut projects = Vec::new();
    for n in 0..PROJECTS {
        let made =
            json!({"team_id": team, "name": format!("Project {n}"), "chat_channel": "#bench"});
        let project = field(&planner.call("POST", "/api/team-projects", &made)?, "/id")?;
        let hook = json!({"provider": "slack", "webhook_url": format!("http://127.0.0.1:{}/hook/{n}", chat.port)});
        planner.call("PUT", &format!("/api/team-projects/{project}/chat"), &hook)?;
        projects.push(project);
    }
    let shots = (0..options.rate * options.seconds)
        .zip(tokens.iter().cycle())
        .zip(projects.iter().cycle());
    let shots = shots.map(|((n, token), project)| Shot {
        token: token.clone(),
        path: "/api/clienta_timer_start",
        body: json!({
            "category": "coding",
            "duration": 25,
            "project_id": format!("team_{project}"),
            "note": format!("{MARK}{n:0DIGITS$}"),
        })
        .to_string(),
    });
    Ok(shots.collect())
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
