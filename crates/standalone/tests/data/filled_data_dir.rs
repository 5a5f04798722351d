//! Data directories with content, the commands on them, and what their servers answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_kit::{ApiClient, FakeChat, Process};
use uuid::Uuid;

use crate::processes::{Env, holdfast, quick};

pub const PARTS: [&str; 3] = ["identity", "worksession", "notifier"];

/// The paths whose responses are compared.
pub const LOOKED_AT: [&str; 5] = [
    "/api/user/data",
    "/api/leaderboard?period=all",
    "/api/analytics/tracking?from=2026-01-01&to=2026-12-31&group_by=day",
    "/api/sessions?limit=50",
    "/api/all-projects",
];

/// A data directory with the demo data and without a server, and the tokens of its user.
pub struct Demo {
    pub folder: TempDir,
    pub token: String,
    pub refresh_token: String,
}

impl Demo {
    /// Copies the demo data, which are created once for all tests.
    pub fn copy() -> Self {
        static MADE: OnceLock<Mutex<Demo>> = OnceLock::new();
        let made = MADE
            .get_or_init(|| Mutex::new(Self::make()))
            .lock()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        copy_folder(made.folder.path(), folder.path());
        Self {
            folder,
            token: made.token.clone(),
            refresh_token: made.refresh_token.clone(),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = holdfast(folder.path(), &["serve", "--demo"], &quick());
        let urls = process.wait_listening(&PARTS);
        let line = loop {
            let log = process.stderr();
            let line = log.lines().find_map(|it| it.strip_prefix("demo sign-in: "));
            if let Some(line) = line {
                break line.to_owned();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        let (name, password) = line.split_once(" / ").unwrap();
        let body = json!({"username": name, "password": password});
        let identity = urls["identity"].clone();
        let tokens = wait(async move {
            let call = ApiClient::new(identity).post("/api/auth/login").json(body);
            call.send().await.expect(200).json()
        });
        assert!(process.terminate().success());
        let text = |key: &str| tokens[key].as_str().unwrap().to_owned();
        Self {
            folder,
            token: text("access_token"),
            refresh_token: text("refresh_token"),
        }
    }
}

/// A server on a data directory.
pub struct Served {
    pub process: Process,
    pub identity: ApiClient,
    pub work: ApiClient,
}

impl Served {
    pub fn on(data: &Path) -> Self {
        Self::with(data, &quick())
    }

    pub fn with(data: &Path, env: &Env) -> Self {
        let process = holdfast(data, &["serve"], env);
        let urls = process.wait_listening(&PARTS);
        Self {
            process,
            identity: ApiClient::new(&*urls["identity"]),
            work: ApiClient::new(&*urls["worksession"]),
        }
    }
}

/// A user whose team has a project with a chat.
pub struct Team {
    pub token: String,
    pub project: i64,
}

impl Team {
    pub async fn told_to(chat: &FakeChat, served: &Served) -> Self {
        let body = json!({"username": "ada", "password": "correct horse battery"});
        let call = served.identity.post("/api/auth/register").json(body);
        let tokens = call.send().await.expect(201).json();
        let token = tokens["access_token"].as_str().unwrap().to_owned();
        let body = json!({"name": "Core", "slug": "core"});
        let call = served.identity.post("/api/teams").bearer(&token).json(body);
        let team = call.send().await.expect(201).json()["team"]["id"].clone();
        let body = json!({"team_id": team, "name": "Beacon", "chat_channel": "#focus"});
        let call = served.work.post("/api/team-projects").bearer(&token);
        let project = id_of(&call.json(body).send().await.expect(201).json());
        let body = json!({"provider": "slack", "webhook_url": chat.hook("core")});
        let path = format!("/api/team-projects/{project}/chat");
        let call = served.work.put(&path).bearer(&token).json(body);
        call.send().await.expect(200);
        Self { token, project }
    }

    /// Starts another session on the project; the same plan would be a repeated start.
    pub async fn start(&self, work: &ApiClient) {
        let note = format!("Write the parser, {}", Uuid::new_v4());
        let body = json!({
            "category": "coding", "duration": 25, "note": note,
            "project_id": format!("team_{}", self.project),
        });
        let call = work.post("/api/clienta_timer_start").bearer(&self.token);
        call.json(body).send().await.expect(201);
    }
}

/// Returns the `id` of a project that was just created.
pub fn id_of(answer: &Value) -> i64 {
    let id = answer["project"]["id"].as_i64();
    id.or_else(|| answer["id"].as_i64()).unwrap()
}

/// Returns what the work-session area answers a user, byte for byte.
pub async fn answers(work: &ApiClient, token: &str) -> BTreeMap<&'static str, String> {
    let mut answers = BTreeMap::new();
    for path in LOOKED_AT {
        let reply = work.get(path).bearer(token).send().await.expect(200);
        answers.insert(path, reply.text());
    }
    answers
}

/// Runs `holdfast --data-dir DATA admin …`.
pub fn admin(data: &Path, args: &[&str]) -> Output {
    admin_with(data, args, &quick())
}

pub fn admin_with(data: &Path, args: &[&str], env: &Env) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdfast"))
        .args(["--data-dir", data.to_str().unwrap(), "admin"])
        .args(args)
        .env_clear()
        .envs(env)
        .output()
        .unwrap()
}

/// Returns the output of a command that must succeed.
pub fn done(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the one error line of a command that must fail.
pub fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert_eq!(output.stdout, b"", "{output:?}");
    lines[0].to_owned()
}

/// Opens a file of a data directory without a server, or of a backup.
pub fn sqlite(folder: &Path, part: &str) -> SqliteConnection {
    let path = folder.join(format!("{part}.db"));
    let mut db = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    db.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON")
        .unwrap();
    db
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct Words {
    #[diesel(sql_type = Text)]
    words: String,
}

/// Returns the `number` of a query on PostgreSQL.
pub fn number(db: &mut PgConnection, sql: &str) -> i64 {
    let row: Number = diesel::sql_query(sql).get_result(db).unwrap();
    row.number
}

/// Returns the `words` of a query on a SQLite file.
pub fn words(db: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows: Vec<Words> = diesel::sql_query(sql).load(db).unwrap();
    rows.into_iter().map(|row| row.words).collect()
}

/// Returns the tables of a SQLite file, except internal ones.
pub fn tables(folder: &Path, part: &str) -> Vec<String> {
    words(
        &mut sqlite(folder, part),
        "SELECT name AS words FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
         AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name",
    )
}

/// Makes the identity database about 120 MB larger.
pub fn fatten(folder: &Path) {
    sqlite(folder, "identity")
        .batch_execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120) \
             INSERT INTO audit_log (at, action, details) \
             SELECT '2026-01-01 00:00:00', 'test.weight', hex(randomblob(500000)) FROM n",
        )
        .unwrap();
}

/// Returns the names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn manifest(backup: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(backup.join("manifest.json")).unwrap()).unwrap()
}

/// Returns a path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns a path that does not exist yet, and what keeps its folder until the end of the test.
pub fn place(name: &str) -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join(name);
    (parent, path)
}

pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs a future on a runtime of its own, since the caller may use the one of the test.
fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let thread = std::thread::spawn(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(work)
    });
    thread.join().unwrap()
}
