//! `holdfast admin move-to-postgres`, and the three services on its result. Only runs with a PostgreSQL server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use serde_json::json;
use test_kit::{
    ApiClient, ChatReply, FakeChat, Process, TestBackend, TestBroker, TestDb, wait_until,
};

use crate::filled_data_dir::*;
use crate::processes::{Env, holdfast, quick};

const PATIENCE: Duration = Duration::from_secs(90);

fn is_here() -> bool {
    TestBackend::current() == TestBackend::Postgres
}

fn empty() -> [TestDb; 3] {
    PARTS.map(TestDb::empty)
}

/// Returns the command's arguments for these databases.
fn to(databases: &[TestDb; 3]) -> Vec<String> {
    let mut args = vec!["move-to-postgres".to_owned()];
    for (part, database) in PARTS.iter().zip(databases) {
        args.push(format!("--{part}"));
        args.push(database.url().to_owned());
    }
    args
}

fn run(data: &Path, databases: &[TestDb; 3]) -> std::process::Output {
    let args = to(databases);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    admin(data, &args)
}

fn connect(database: &TestDb) -> PgConnection {
    PgConnection::establish(database.url()).unwrap()
}

/// Inserts values that often break a copy.
fn make_hostile(data: &Path) {
    sqlite(data, "identity")
        .batch_execute(
            "UPDATE users SET bio = '\\x00 ''\";-- %s {} \\u0000 ' || char(8232, 129408, 1, 9, 10, 13, 92), \
             website_url = '' WHERE id = 1;
             INSERT INTO profile_photos VALUES (1, 'image/png', x'00ff5c27780a00');
             INSERT INTO audit_log (id, at, action, user_id, details) VALUES
               (9007199254740993, '1970-01-01 00:00:00', 'test.old', -9223372036854775808, '{\"a\": 1e400, \"a\": null}'),
               (9007199254740992, '2026-11-22 23:59:59.999999', 'test.new', 9223372036854775807, NULL);
             INSERT INTO changes (kind, subject) VALUES ('user', '1');
             INSERT INTO outbox VALUES
               ('00000000-0000-7000-8000-000000000001', 'work.events', 'odd.v1', '{\"poison\": \"'' \\\\\"}', \
                '2026-11-22 10:00:00.000001', 'unroutable')",
        )
        .unwrap();
    sqlite(data, "worksession")
        .batch_execute(
            "INSERT INTO projects (user_id, name, description, created_at, updated_at) \
               VALUES (1, 'gone', '', '2026-11-22 10:00:00', '2026-11-22 10:00:00');
             DELETE FROM projects WHERE name = 'gone';
             INSERT INTO inbox VALUES ('tests', 'x', '2026-11-22 10:00:00.5');
             INSERT INTO outbox_leases VALUES ('a', 'b', 'c', '2026-11-22 10:00:00')",
        )
        .unwrap();
}

/// The three services on their databases, with the keys of the data directory.
struct Services {
    identity: ApiClient,
    work: ApiClient,
    _processes: [Process; 3],
    _broker: TestBroker,
    _home: tempfile::TempDir,
}

impl Services {
    fn start(data: &Path, databases: &[TestDb; 3], said: &str) -> Self {
        let broker = TestBroker::fresh();
        let home = tempfile::tempdir().unwrap();
        let mut env = quick();
        for (part, database) in PARTS.iter().zip(databases) {
            let part = part.to_uppercase();
            for (key, value) in [
                ("DATABASE__URL", database.url()),
                ("BROKER__URL", broker.url()),
                ("BROKER__PREFIX", broker.prefix()),
                ("DATA_DIR", arg(home.path())),
            ] {
                env.insert(format!("{part}__{key}"), value.to_owned());
            }
        }
        // Exactly the settings that the command printed, and nothing else of the data directory.
        let mut told = said.lines().filter_map(|line| line.trim().split_once('='));
        for (key, value) in told.by_ref().filter(|(key, _)| key.contains("__")) {
            env.insert(key.to_owned(), value.to_owned());
        }
        assert_eq!(
            env["IDENTITY__KEYS__ENCRYPTION_KEY_FILE"],
            arg(&data.join("identity-keys.key"))
        );
        let config = home.path().join("holdfast.toml");
        let table = said
            .lines()
            .skip_while(|line| !line.contains("[[identity.oauth_clients]]"));
        let table: Vec<&str> = table.take_while(|line| line.starts_with("  ")).collect();
        assert!(table.len() > 4, "{said}");
        std::fs::write(&config, table.join("\n")).unwrap();

        let identity = start("identity-service", &["--config", arg(&config)], &env);
        let url = identity.wait_listening(&["identity"])["identity"].clone();
        env.insert("WORKSESSION__IDENTITY_URL".into(), url.clone());
        let work = start("worksession-service", &[], &env);
        let notifier = start("notifier", &[], &env);
        notifier.wait_listening(&["notifier"]);
        let work_url = work.wait_listening(&["worksession"])["worksession"].clone();
        Self {
            identity: ApiClient::new(url),
            work: ApiClient::new(work_url),
            _processes: [identity, work, notifier],
            _broker: broker,
            _home: home,
        }
    }
}

fn start(program: &str, args: &[&str], env: &Env) -> Process {
    let path: PathBuf = Path::new(env!("CARGO_BIN_EXE_holdfast")).with_file_name(program);
    assert!(
        path.exists(),
        "{program} is not built: cargo build --workspace"
    );
    Process::start(&path, args, env)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_three_services_answer_on_postgres_what_the_standalone_answered() {
    if !is_here() {
        return;
    }
    let demo = Demo::copy();
    make_hostile(demo.path());
    let mut served = Served::on(demo.path());
    let before = answers(&served.work, &demo.token).await;
    assert!(served.process.terminate().success());
    let databases = empty();
    let said = done(&run(demo.path(), &databases));
    eprintln!("{said}");

    // The command lists every table of every file, with the number of rows in PostgreSQL.
    let told: BTreeSet<(String, String, i64)> = said
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let (part, table) = (words.next().unwrap(), words.next().unwrap());
            (part, table, words.next().unwrap().parse().unwrap())
        })
        .collect();
    let mut there = BTreeSet::new();
    for (part, database) in PARTS.iter().zip(&databases) {
        let mut target = connect(database);
        for table in tables(demo.path(), part) {
            let sql = format!("SELECT count(*) AS number FROM \"{table}\"");
            let rows = number(&mut target, &sql);
            let counts = format!("SELECT CAST(count(*) AS TEXT) AS words FROM \"{table}\"");
            let expected = words(&mut sqlite(demo.path(), part), &counts);
            assert_eq!(rows.to_string(), expected[0], "{part}.{table}");
            there.insert(((*part).to_owned(), table, rows));
        }
    }
    assert_eq!(told, there);
    check_hostile(&databases);

    let services = Services::start(demo.path(), &databases, &said);
    assert_eq!(answers(&services.work, &demo.token).await, before);
    // Ids continue where they were, even after deleted rows.
    let body = json!({"name": "new"});
    let call = services.work.post("/api/projects").bearer(&demo.token);
    let made = call.json(body).send().await.expect(201).json();
    let id = id_of(&made);
    let gone = "SELECT CAST(seq AS TEXT) AS words FROM sqlite_sequence WHERE name = 'projects'";
    let gone = words(&mut sqlite(demo.path(), "worksession"), gone);
    assert_eq!((id - 1).to_string(), gone[0]);
    let body = json!({"username": "later", "password": "correct horse battery"});
    let call = services.identity.post("/api/auth/register").json(body);
    call.send().await.expect(201);
    let body = json!({ "refresh_token": demo.refresh_token });
    let call = services.identity.post("/api/auth/refresh").json(body);
    call.send().await.expect(200);
    // The dashboard's client is unchanged, secret included: nothing had to be written again.
    let client = "SELECT CAST(round((julianday(updated_at) - 2440587.5) * 86400) AS TEXT) AS words FROM oauth_clients \
                  WHERE id = 'holdfast-dashboard'";
    let client = words(&mut sqlite(demo.path(), "identity"), client);
    let there = "SELECT round(extract(epoch FROM updated_at))::bigint AS number FROM oauth_clients \
                 WHERE id = 'holdfast-dashboard'";
    let there = number(&mut connect(&databases[0]), there);
    assert_eq!(client, [format!("{there}.0")]);
}

fn check_hostile(databases: &[TestDb; 3]) {
    let mut identity = connect(&databases[0]);
    for sql in [
        "SELECT count(*) AS number FROM users WHERE id = 1 AND website_url = '' AND bio = \
         E'\\\\x00 ''\";-- %s {} \\\\u0000 \\u2028\\U0001F980\\x01\\t\\n\\r\\\\'",
        "SELECT count(*) AS number FROM profile_photos WHERE bytes = '\\x00ff5c27780a00'",
        "SELECT count(*) AS number FROM audit_log WHERE id = 9007199254740993 AND at = '1970-01-01' \
         AND user_id = '-9223372036854775808'::bigint AND details = '{\"a\": 1e400, \"a\": null}'",
        "SELECT count(*) AS number FROM audit_log WHERE id = 9007199254740992 \
         AND at = '2026-11-22 23:59:59.999999' AND user_id = 9223372036854775807 AND details IS NULL",
        "SELECT count(*) AS number FROM outbox WHERE state = 'unroutable' AND created_at = '2026-11-22 10:00:00.000001'",
    ] {
        assert_eq!(number(&mut identity, sql), 1, "{sql}");
    }
    let mut work = connect(&databases[1]);
    let sql = "SELECT count(*) AS number FROM inbox WHERE received_at = '2026-11-22 10:00:00.5'";
    assert_eq!(number(&mut work, sql), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_pending_in_the_standalone_is_delivered_by_the_services() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let chat = FakeChat::start().await;
    chat.usually(ChatReply::Status(503));
    let mut served = Served::on(folder.path());
    let team = Team::told_to(&chat, &served).await;
    team.start(&served.work).await;
    chat.next_message().await;
    // The second event may still be in the outbox of its sender, or its delivery waits behind the first.
    team.start(&served.work).await;
    served.process.kill();
    // As after a crash: written, but not yet read by the relay.
    sqlite(folder.path(), "worksession")
        .batch_execute(
            "INSERT INTO outbox (id, exchange, routing_key, body, created_at) VALUES \
             ('01930000-0000-7000-8000-000000000001', 'work.events', 'session.started.v1', '{\"poison\": true}', \
              '2026-11-22 10:00:00')",
        )
        .unwrap();

    let databases = empty();
    let said = done(&run(folder.path(), &databases));
    let outbox = "SELECT count(*) AS number FROM outbox WHERE state = 'pending'";
    assert!(number(&mut connect(&databases[1]), outbox) > 0);
    chat.usually(ChatReply::Status(200));
    let _services = Services::start(folder.path(), &databases, &said);
    wait_until("all events to be published", PATIENCE, async || {
        (number(&mut connect(&databases[1]), outbox) == 0).then_some(())
    })
    .await;
    // The address of the chat was sealed with the key of the data directory.
    let told =
        "SELECT count(*) AS number FROM deliveries WHERE kind = 'plan' AND state = 'delivered'";
    wait_until("both starts to be told", PATIENCE, async || {
        (number(&mut connect(&databases[2]), told) == 2).then_some(())
    })
    .await;
}

#[test]
fn a_move_killed_at_any_moment_can_be_repeated_on_the_same_databases() {
    if !is_here() {
        return;
    }
    let demo = Demo::copy();
    fatten(demo.path());
    let databases = empty();
    let args = to(&databases);
    let mut all = vec!["admin"];
    all.extend(args.iter().map(String::as_str));
    let mut killed = 0;
    for wait in [400, 900, 1500, 2200, 3000] {
        let mut process = holdfast(demo.path(), &all, &quick());
        std::thread::sleep(Duration::from_millis(wait));
        process.kill();
        // The server soon notices that the client is gone.
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        let others = "SELECT count(*) AS number FROM pg_stat_activity \
                      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        while databases
            .iter()
            .any(|it| number(&mut connect(it), others) > 0)
        {
            assert!(std::time::Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(50));
        }
        let rows: i64 = databases.iter().map(rows).sum();
        if rows > 0 {
            // It had ended before the kill.
            break;
        }
        killed += 1;
    }
    assert!(killed > 1, "{killed}");
    let left: i64 = databases.iter().map(rows).sum();
    if left == 0 {
        done(&run(demo.path(), &databases));
    }
    assert!(databases.iter().map(rows).sum::<i64>() > 100);
}

/// Counts the rows of all tables of a database.
fn rows(database: &TestDb) -> i64 {
    let sql = "SELECT coalesce(sum((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', tablename), \
               true, true, '')))[1]::text::bigint), 0)::bigint AS number FROM pg_tables \
               WHERE schemaname = 'public' AND tablename NOT LIKE '\\_\\_%'";
    number(&mut connect(database), sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_would_lose_or_mix_data_is_refused_and_changes_nothing() {
    if !is_here() {
        return;
    }
    let demo = Demo::copy();
    let databases = empty();

    let mut served = Served::on(demo.path());
    let said = refused(&run(demo.path(), &databases));
    assert!(said.contains("is in use"), "{said}");
    assert!(served.process.terminate().success());

    let said = refused(&admin(demo.path(), &["move-to-postgres"]));
    assert!(
        said.contains("--identity") && said.contains("IDENTITY__DATABASE__URL"),
        "{said}"
    );
    let wrong = ["move-to-postgres", "--identity", "mysql://u:hunter2@h/d"];
    let said = refused(&admin(demo.path(), &wrong));
    assert!(!said.contains("hunter2"), "{said}");

    // The same database twice, under another name.
    let mut args = to(&databases);
    args[4] = args[2].replace("127.0.0.1", "localhost");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = refused(&admin(demo.path(), &args));
    assert!(said.contains("another part"), "{said}");

    connect(&databases[2])
        .batch_execute("CREATE TABLE other (a INTEGER)")
        .unwrap();
    let said = refused(&run(demo.path(), &databases));
    assert!(said.contains("a table other"), "{said}");
    connect(&databases[2])
        .batch_execute("DROP TABLE other")
        .unwrap();
    assert_eq!(
        number(&mut connect(&databases[0]), TABLES),
        0,
        "nothing was made"
    );

    let text = "UPDATE sessions SET note = 'a' || char(0) || 'b' \
                WHERE session_id = (SELECT min(session_id) FROM sessions)";
    sqlite(demo.path(), "worksession")
        .batch_execute(text)
        .unwrap();
    let said = refused(&run(demo.path(), &databases));
    assert!(
        said.contains("note of sessions") && said.contains("NUL"),
        "{said}"
    );
    assert_eq!(databases.iter().map(rows).sum::<i64>(), 0);
    let text = "UPDATE sessions SET note = 'ab' WHERE instr(note, char(0)) > 0";
    sqlite(demo.path(), "worksession")
        .batch_execute(text)
        .unwrap();

    // The URLs are in files, as the services may have them.
    let folder = tempfile::tempdir().unwrap();
    let mut env = quick();
    for (part, database) in PARTS.iter().zip(&databases) {
        let path = folder.path().join(part);
        std::fs::write(&path, format!("{}\n", database.url())).unwrap();
        let key = format!("{}__DATABASE__URL_FILE", part.to_uppercase());
        env.insert(key, arg(&path).to_owned());
    }
    done(&admin_with(demo.path(), &["move-to-postgres"], &env));
    let said = refused(&run(demo.path(), &databases));
    assert!(said.contains("is not empty"), "{said}");
}

const TABLES: &str = "SELECT count(*) AS number FROM pg_tables WHERE schemaname = 'public'";
