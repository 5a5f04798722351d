//! Compares the reads of a user with a short history among few users, and with a long one among many.

mod fill;

use super::measurement::{BACKENDS, Backend, GoalOptions};
use crate::percentile::per_mille;
use crate::results_table::{Goal, ResultRow, Sample, Unit};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use xtask_fixtures::accounts::register;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::http::{Client, text};
use xtask_fixtures::servers::{Postgres, PrivateRabbit};
use xtask_kit::cmd::{Result, fail, run};
use xtask_kit::system::{self, Program};

/// The largest ratio of the time on the large database to that on the small one.
const LIMIT: f64 = 1.5;
/// Sessions of the large database on SQLite.
const ON_SQLITE: u64 = 1_000_000;
/// Requests of one measurement.
const REQUESTS_OF_A_ROUND: usize = 100;

/// The size of a database.
struct Size {
    /// Sessions of the user who reads.
    own: u64,
    own_each_day: u64,
    /// Sessions of all users.
    all: u64,
    /// Sessions of each other user.
    each: u64,
}

/// The sessions of some users.
struct Part {
    first_user: u64,
    users: u64,
    sessions: u64,
    each_day: u64,
}

const SMALL: Size = Size {
    own: 100,
    own_each_day: 1,
    all: 10_000,
    each: 100,
};

impl Size {
    fn large(all: u64) -> Self {
        Self {
            own: 20_000,
            own_each_day: 11,
            all,
            each: 500,
        }
    }

    /// Returns the sessions of the reader, who is account 1 of the identity service.
    fn own(&self) -> Part {
        Part {
            first_user: 1,
            users: 1,
            sessions: self.own,
            each_day: self.own_each_day,
        }
    }

    fn others(&self) -> Part {
        Part {
            first_user: 1_000,
            users: (self.all - self.own) / self.each,
            sessions: self.all - self.own,
            each_day: 5,
        }
    }
}

pub(super) fn growth(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for backend in BACKENDS {
        if options.wants(&format!("growth, {}", backend.name())) {
            rows.extend(measure(backend, options)?);
        }
    }
    Ok(rows)
}

/// Read from the database once in five seconds, however many clients ask for it.
const BOARD: &str = "/api/leaderboard?period=all";

/// The requests, with placeholders `{from}`, `{to}` and `{since}`.
const REQUESTS: [(&str, &str); 9] = [
    ("user/data", "/api/user/data"),
    ("leaderboard, ever", BOARD),
    (
        "analytics of a year by day",
        "/api/analytics/tracking?from={from}&to={to}&group=day",
    ),
    (
        "analytics of a year by week",
        "/api/analytics/tracking?from={from}&to={to}&group=week",
    ),
    (
        "analytics of a year by hour",
        "/api/analytics/tracking?from={from}&to={to}&group=hour",
    ),
    (
        "analytics of a year by category",
        "/api/analytics/tracking?from={from}&to={to}&group=category",
    ),
    ("sync/status, nothing new", "/api/sync/status?since={since}"),
    ("sessions, first page", "/api/sessions"),
    (
        "sessions of a category",
        "/api/sessions?category=category%203&limit=10",
    ),
];

fn measure(backend: Backend, options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let folder = fresh_folder("holdfast-bench-")?;
    let folder = folder.path();
    let postgres = match backend {
        Backend::Postgres => Some(Postgres::durable()?),
        Backend::Sqlite => None,
    };
    let rabbit = PrivateRabbit::installed()?;
    let name = backend.name();
    let all = match backend {
        Backend::Postgres => options.sessions,
        Backend::Sqlite => options.sessions.min(ON_SQLITE),
    };
    let identity = identity(folder, &rabbit)?;
    let address = identity.address("identity")?;
    let token = &register(address, "reader")?;
    let (mut services, mut forgetful) = (Vec::new(), Vec::new());
    for (part, size) in [("small", &SMALL), ("large", &Size::large(all))] {
        let url = match &postgres {
            Some(server) => server.make_database(part)?,
            None => format!("sqlite://{}", folder.join(format!("{part}.db")).display()),
        };
        let begun = Instant::now();
        run(worksession(&url, folder, &rabbit, part).arg("migrate"))?;
        fill::fill(&url, size)?;
        println!(
            "{name}: {} sessions after {:.0} s",
            size.all,
            begun.elapsed().as_secs_f64()
        );
        // The service itself computes the reader's rollups, in every detail.
        let mut rebuild = worksession(&url, folder, &rabbit, part);
        run(rebuild.args(["admin", "rebuild-rollups", "--user", "1"]))?;
        let serve = |remember: &str| {
            let mut command = worksession(&url, folder, &rabbit, part);
            command
                .arg("serve")
                .env("WORKSESSION__IDENTITY_URL", address)
                .env("WORKSESSION__LEADERBOARD__REMEMBER_SECONDS", remember);
            let log = folder.join(format!("{part}-{remember}.log"));
            Program::start(&mut command, &["worksession"], &log)
        };
        services.push(serve("5")?);
        forgetful.push(serve("0")?);
    }
    let clients = |services: &[Program]| -> Result<Vec<Client>> {
        let client = |service: &Program| Ok(Client::new(service.address("worksession")?, token));
        services.iter().map(client).collect()
    };
    let (mut clients, mut readers_anew) = (clients(&services)?, clients(&forgetful)?);
    for (client, own) in clients.iter_mut().zip([SMALL.own, Size::large(all).own]) {
        let data = client.json("/api/user/data")?;
        if data.pointer("/session_stats/total_sessions") != Some(&json!(own)) {
            return fail(format!("the reader should have {own} sessions: {data}"));
        }
    }
    let mut rows = Vec::new();
    for (request, path) in REQUESTS {
        rows.push(compare(name, request, path, &mut clients, options)?);
    }
    // This read happens once in five seconds. Its cost grows with the users on the board, and has no goal.
    rows.push(ResultRow {
        goal: Goal::Told,
        ..compare(
            name,
            "leaderboard, ever, read anew",
            BOARD,
            &mut readers_anew,
            options,
        )?
    });
    Ok(rows)
}

/// Sends the same request to both services in turns. Each sample has the medians of a round.
fn compare(
    backend: &'static str,
    name: &'static str,
    path: &str,
    clients: &mut [Client],
    options: &GoalOptions,
) -> Result<ResultRow> {
    let mut paths = Vec::new();
    for client in clients.iter_mut() {
        paths.push(fill_in(path, client)?);
    }
    let work = format!("growth, {backend}: {name}");
    let mut row = ResultRow {
        unit: Unit::Milliseconds,
        ..ResultRow::new(work, "the same with 10,000 sessions", Goal::Below(LIMIT))
    };
    // The first round warms up both services.
    for round in 0..=options.rounds {
        let mut of_round = Vec::new();
        for (client, path) in clients.iter_mut().zip(&paths) {
            of_round.push(times(client, path)?);
        }
        if let (true, [small, large]) = (round > 0, of_round.as_slice()) {
            row.samples.push(Sample {
                p50_ms: per_mille(large, 500),
                p99_ms: per_mille(large, 990),
                ..Sample::new(per_mille(large, 500), per_mille(small, 500))
            });
        }
    }
    println!("{backend}: {name}");
    Ok(row)
}

/// Returns the sorted milliseconds of one measurement's requests.
fn times(client: &mut Client, path: &str) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..REQUESTS_OF_A_ROUND {
        let begun = Instant::now();
        client.text(path)?;
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Fills in a year that ends today, and the current cursor.
fn fill_in(path: &str, client: &mut Client) -> Result<String> {
    let day = client.json("/api/analytics/tracking")?;
    let to = text(&day, "/to");
    let (year, rest) = to.split_at(to.find('-').unwrap_or(0));
    let from = format!("{}{rest}", year.parse::<u32>()? - 1);
    // Follows the changes to their end, page by page.
    let mut since = String::new();
    if path.contains("{since}") {
        loop {
            let query = if since.is_empty() {
                String::new()
            } else {
                format!("?since={since}")
            };
            let answer = client.json(&format!("/api/sync/status{query}"))?;
            text(&answer, "/cursor").clone_into(&mut since);
            if answer.pointer("/more") != Some(&Value::Bool(true)) {
                break;
            }
        }
    }
    Ok(path
        .replace("{from}", &from)
        .replace("{to}", to)
        .replace("{since}", &since))
}

fn identity(folder: &Path, rabbit: &PrivateRabbit) -> Result<Program> {
    let mut command = system::serve(true, "identity-service", &folder.join("data"));
    command
        .env("IDENTITY__BROKER__URL", &rabbit.url)
        .env("IDENTITY__RATE_LIMITS__ENABLED", "false");
    Program::start(&mut command, &["identity"], &folder.join("identity.log"))
}

fn worksession(url: &str, folder: &Path, rabbit: &PrivateRabbit, prefix: &str) -> Command {
    let mut command = Command::new(system::binary(true, "worksession-service"));
    command
        .env("WORKSESSION__LISTEN", "127.0.0.1:0")
        .env("WORKSESSION__DATABASE__URL", url)
        .env("WORKSESSION__BROKER__URL", &rabbit.url)
        .env("WORKSESSION__BROKER__PREFIX", format!("{prefix}-"))
        .env("WORKSESSION__DATA_DIR", folder.join("data"))
        .env("WORKSESSION__RATE_LIMITS__ENABLED", "false");
    command
}
