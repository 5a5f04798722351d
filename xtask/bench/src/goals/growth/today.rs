//! How long the dashboard's pages take while there are many sessions: Today is to be there at once.

use super::visitor::Visitor;
use super::{BACKENDS, Backend, PASSWORD, READER, Size, fill, identity, register, worksession};
use crate::per_mille;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Instant;
use xtask_kit::cmd::{Result, fail, run};
use xtask_kit::http::Client;
use xtask_kit::servers::{Postgres, PrivateRabbit};
use xtask_kit::system::{self, Program};

/// Milliseconds until the page is there, from the request on.
const LIMIT: f64 = 30.0;
const CLIENT: (&str, &str) = ("bench-dashboard", "a-secret-of-at-least-32-characters");

#[derive(clap::Args)]
pub(crate) struct Options {
    /// One database only
    #[arg(long)]
    only: Option<Backend>,
    /// Sessions of everybody
    #[arg(long, default_value_t = 1_000_000)]
    sessions: u64,
    /// Sessions of whoever looks
    #[arg(long, default_value_t = 5_000)]
    own: u64,
    /// Requests of each page
    #[arg(long, default_value_t = 500)]
    requests: usize,
}

/// What is asked for, and whether the limit holds for it.
const PAGES: [(&str, &str, bool); 5] = [
    ("Today", "/", true),
    ("Look back", "/look-back", false),
    ("Look back, the list", "/look-back/sessions", false),
    ("Leaderboard", "/leaderboard", false),
    ("Team", "/team/{team}", false),
];

pub(crate) fn today(options: &Options) -> Result {
    system::build(true, &["identity-service", "worksession-service"])?;
    let mut rows = Vec::new();
    for backend in BACKENDS {
        if options.only.is_none_or(|only| only == backend) {
            rows.extend(measure(backend, options)?);
        }
    }
    println!(
        "\n{:<10} {:<22} {:>8} {:>8} {:>8} {:>8}",
        "database", "page", "p50 ms", "p99 ms", "most ms", "limit"
    );
    for row in &rows {
        let limit = if row.is_limited { "30" } else { "" };
        println!(
            "{:<10} {:<22} {:>8.2} {:>8.2} {:>8.2} {limit:>8}",
            row.database, row.page, row.median, row.slowest_of_100, row.slowest
        );
    }
    match rows.iter().all(Row::is_good) {
        true => Ok(()),
        false => fail(format!("one page in a hundred takes {LIMIT} ms and more")),
    }
}

struct Row {
    database: &'static str,
    page: &'static str,
    is_limited: bool,
    /// Milliseconds, as those below.
    median: f64,
    slowest_of_100: f64,
    slowest: f64,
}

impl Row {
    fn is_good(&self) -> bool {
        !self.is_limited || self.slowest_of_100 < LIMIT
    }
}

fn measure(backend: Backend, options: &Options) -> Result<Vec<Row>> {
    let folder = tempfile::Builder::new()
        .prefix("holdfast-bench-")
        .tempdir()?;
    let folder = folder.path();
    let rabbit = PrivateRabbit::installed()?;
    let postgres = match backend {
        Backend::Postgres => Some(Postgres::durable()?),
        Backend::Sqlite => None,
    };
    let (database, url) = match &postgres {
        Some(server) => ("PostgreSQL", server.make_database("today")?),
        None => (
            "SQLite",
            format!("sqlite://{}", folder.join("today.db").display()),
        ),
    };
    let settings = folder.join("identity.toml");
    std::fs::write(
        &settings,
        format!(
            "[[identity.oauth_clients]]\nclient_id = '{}'\nname = 'Dashboard'\nclient_secret = '{}'\n\
             redirect_uris = ['http://127.0.0.1/sign-in/callback']\nfirst_party = true\n",
            CLIENT.0, CLIENT.1
        ),
    )?;
    let identity = identity(folder, &rabbit, Some(&settings))?;
    let address = identity.address("identity")?;
    let token = register(address)?;
    let size = Size {
        own: options.own,
        own_each_day: 8,
        all: options.sessions,
        each: 500,
    };
    let service = worksession_with(&url, &size, (folder, &rabbit, address))?;
    let dashboard = service.address("worksession")?;
    let team = begin(address, dashboard, &token)?;
    let mut visitor = Visitor::sign_in(dashboard, READER, PASSWORD)?;
    println!(
        "{database}: {} sessions, of them {} of who looks",
        size.all, size.own
    );
    let mut rows = Vec::new();
    for (page, path, is_limited) in PAGES {
        let path = path.replace("{team}", &team);
        let times = times(
            &mut visitor,
            &format!("{dashboard}{path}"),
            options.requests,
        )?;
        rows.push(Row {
            database,
            page,
            is_limited,
            median: per_mille(&times, 500),
            slowest_of_100: per_mille(&times, 990),
            slowest: per_mille(&times, 1000),
        });
    }
    Ok(rows)
}

/// Has the reader make a team with a project and start a session on it, and gives the team's slug.
fn begin(identity: &str, worksession: &str, token: &str) -> Result<String> {
    let slug = "bench".to_owned();
    let team = json!({"name": "Bench", "slug": slug});
    let team = Client::new(identity, token).call("POST", "/api/teams", &team)?;
    let project = json!({"team_id": team.pointer("/team/id"), "name": "Bench"});
    let mut client = Client::new(worksession, token);
    let project = client.call("POST", "/api/team-projects", &project)?;
    let project = project
        .pointer("/id")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let plan =
        json!({"category": "category 1", "duration": 480, "project_id": format!("team_{project}")});
    client.call("POST", "/api/session/start", &plan)?;
    Ok(slug)
}

/// A service on a database of this size.
fn worksession_with(
    url: &str,
    size: &Size,
    (folder, rabbit, identity): (&std::path::Path, &PrivateRabbit, &str),
) -> Result<Program> {
    let command = || worksession(url, folder, rabbit, "today");
    run(command().arg("migrate"))?;
    fill::fill(url, size)?;
    // What it tells of each day is of no interest here.
    let mut rebuild = command();
    run(rebuild
        .args(["admin", "rebuild-rollups", "--user", "1"])
        .stdout(Stdio::null()))?;
    let mut serve = command();
    serve
        .arg("serve")
        .env("WORKSESSION__IDENTITY_URL", identity)
        .env("WORKSESSION__DASHBOARD__CLIENT_ID", CLIENT.0)
        .env("WORKSESSION__DASHBOARD__CLIENT_SECRET", CLIENT.1);
    Program::start(&mut serve, &["worksession"], &folder.join("today.log"))
}

/// How long each of so many requests takes, in milliseconds, sorted.
fn times(visitor: &mut Visitor, address: &str, requests: usize) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    // The first tenth warms up.
    for number in 0..requests + requests / 10 {
        let begun = Instant::now();
        let answer = visitor.ask("GET", address, "")?;
        if answer.status != 200 {
            return fail(format!("{address} answers {}", answer.status));
        }
        if number >= requests / 10 {
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
