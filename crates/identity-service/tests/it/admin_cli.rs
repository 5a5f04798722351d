use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use service_kit::Clock;
use test_kit::{TestDb, assert_ends_quietly_if_output_closes, wait_until};

use crate::support::{ENCRYPTION_KEY, Identity, MAIL_KEY, PASSWORD, refused, signed_in};

/// The output and exit code of a command.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Builds a command of the program: `admin` with these arguments, on this database.
fn command(db: &TestDb, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_identity-service"));
    command
        .arg("admin")
        .args(args)
        .env_clear()
        .env("IDENTITY__DATABASE__URL", db.url())
        .env(
            "IDENTITY__KEYS__ENCRYPTION_KEY",
            STANDARD.encode(ENCRYPTION_KEY),
        )
        .env(
            "IDENTITY__SECRETS__ENCRYPTION_KEY",
            STANDARD.encode(MAIL_KEY),
        )
        .env("IDENTITY__PASSWORD__BCRYPT_COST", "4")
        .env("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true");
    command
}

/// Runs a command with this standard input and more environment variables.
pub(crate) fn run(db: &TestDb, args: &[&str], input: &str, more: &[(&str, &str)]) -> Ran {
    let mut child = command(db, args)
        .envs(more.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn good(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Checks the exit code and that the error is one line, and returns that line.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        assert_eq!(self.out, "");
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        self.err
    }
}

/// Starts a service whose clock shows the system time, which the commands use.
async fn service() -> Identity {
    let identity = Identity::start().await;
    identity.hand.set(Clock::system().now());
    identity
}

impl Identity {
    fn admin(&self, args: &[&str]) -> Ran {
        run(&self.db, args, "", &[])
    }

    fn admin_json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.admin(&args).good()).unwrap()
    }
}

/// Replaces the digits of every moment by zeros, because moments differ in each run.
fn without_moments(text: &str) -> String {
    const SHAPES: [&str; 3] = ["dddd-dd-dd dd:dd:dd", "dddd-dd-dd dd:dd", "dddd-dd-dd"];
    let fits = |text: &str, shape: &str| {
        text.len() >= shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, wanted)| match wanted {
                    b'd' => byte.is_ascii_digit(),
                    other => byte == other,
                })
    };
    let (mut rest, mut told) = (text, String::new());
    while let Some(first) = rest.chars().next() {
        // The test sets the end of a plan, so it stays.
        let moment = SHAPES
            .iter()
            .find(|shape| !rest.starts_with("2999") && fits(rest, shape));
        let length = moment.map_or(first.len_utf8(), |shape| shape.len());
        let (head, tail) = rest.split_at(length);
        told += &match moment {
            Some(_) => head.replace(|c: char| c.is_ascii_digit(), "0"),
            None => head.to_owned(),
        };
        rest = tail;
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_creates_the_first_superadmin_beside_a_running_service() {
    let identity = service().await;
    let made = identity
        .admin(&["users", "create", "ada", "--superadmin"])
        .good();
    assert!(
        made.starts_with("ada (id 1) was created, SUPERADMIN.\n"),
        "{made}"
    );
    let password = made.trim_end().rsplit(' ').next().unwrap();
    let ada = signed_in(&identity.login("ada", password).await.expect(200).json());
    let users = identity.api.get("/api/admin/users").bearer(&ada.access);
    users.send().await.expect(200);

    let args = [
        "users",
        "create",
        "bob",
        "--email",
        "bob@example.com",
        "--password-stdin",
    ];
    let made = run(&identity.db, &args, &format!("{PASSWORD}\n"), &[]).good();
    assert_eq!(made, "bob (id 2) was created, USER.\n");
    identity.login("bob", PASSWORD).await.expect(200);
    // Its mail waits in the outbox for the service.
    assert_eq!(identity.mails()[0].to, "bob@example.com");

    let args = ["users", "create", "carol", "--password-stdin", "--json"];
    let made = run(&identity.db, &args, &format!("{PASSWORD}\r\n"), &[]).good();
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(
        (&made["user"]["id"], &made["password"]),
        (&json!(3), &Value::Null)
    );
    identity.login("carol", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deactivation_by_command_takes_effect_in_the_running_service_within_a_second() {
    let identity = service().await;
    let bob = identity.register("bob").await;
    // The service has cached the session, and its change feed is up.
    for _ in 0..20 {
        identity.validate(&bob.access).await.expect(200);
    }
    let said = identity.admin(&["users", "deactivate", "bob"]).good();
    let ended = std::time::Instant::now();
    assert_eq!(said, "bob (id 1) is deactivated now; 1 session ended.\n");
    let refusal = wait_until("the revocation", Duration::from_secs(5), async || {
        let reply = identity.validate(&bob.access).await;
        (reply.status != 200).then_some(reply)
    });
    refused(refusal.await, 401, "token_revoked");
    let took = ended.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    refused(
        identity.login("bob", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    assert_eq!(identity.events("identity.session_revoked.v1").len(), 1);
    assert_eq!(identity.events("identity.user_changed.v1").len(), 1);

    assert_eq!(
        identity.admin(&["users", "activate", "bob"]).good(),
        "bob (id 1) is active now.\n"
    );
    identity.login("bob", PASSWORD).await.expect(200);
    let said = identity.admin(&["users", "revoke-sessions", "bob"]).good();
    assert_eq!(said, "1 session of bob (id 1) ended.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_command_succeeds_and_reports_that_nothing_changed() {
    let identity = service().await;
    identity.register("bob").await;
    for (args, first, again) in [
        (
            &["promote", "bob"][..],
            "bob (id 1) is SUPERADMIN now.",
            "bob (id 1) is SUPERADMIN already; nothing was changed.",
        ),
        (
            &["demote", "BOB"],
            "bob (id 1) is USER now.",
            "bob (id 1) is USER already; nothing was changed.",
        ),
        (
            &["set-premium", "bob", "--tier", "premium"],
            "bob (id 1) has PREMIUM now.",
            "bob (id 1) has PREMIUM already; nothing was changed.",
        ),
        (
            &[
                "set-premium",
                "bob",
                "--tier",
                "PREMIUM",
                "--until",
                "2999-01-31",
            ],
            "bob (id 1) has PREMIUM until 2999-01-31 00:00 UTC now.",
            "bob (id 1) has PREMIUM until 2999-01-31 00:00 UTC already; nothing was changed.",
        ),
        (
            &["set-premium", "1", "--tier", "FREE"],
            "bob (id 1) has FREE now.",
            "bob (id 1) has FREE already; nothing was changed.",
        ),
        (
            &["deactivate", "--id", "1"],
            "bob (id 1) is deactivated now; 1 session ended.",
            "bob (id 1) is deactivated already; nothing was changed.",
        ),
    ] {
        let args: Vec<&str> = ["users"].into_iter().chain(args.iter().copied()).collect();
        assert_eq!(identity.admin(&args).good().trim_end(), first);
        assert_eq!(identity.admin(&args).good().trim_end(), again);
    }
    let by_command =
        "SELECT count(*) AS n FROM audit_log WHERE via = 'command' AND actor_id IS NULL";
    assert_eq!(identity.count(by_command), 7);
    let told = identity.admin_json(&["users", "activate", "bob"]);
    assert_eq!(
        (&told["changed"], &told["user"]["is_active"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        identity.admin_json(&["users", "activate", "bob"])["changed"],
        false
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_never_an_argument_and_a_reset_ends_all_sessions() {
    let identity = service().await;
    let bob = identity.register("bob").await;
    let said = identity.admin(&["users", "reset-password", "bob"]).good();
    assert!(
        said.starts_with("bob (id 1) has a new password; 1 session ended.\n"),
        "{said}"
    );
    let password = said.trim_end().rsplit(' ').next().unwrap();
    refused(
        identity.login("bob", PASSWORD).await,
        401,
        "invalid_credentials",
    );
    identity.login("bob", password).await.expect(200);
    wait_until("the revocation", Duration::from_secs(1), async || {
        (identity.validate(&bob.access).await.status == 401).then_some(())
    })
    .await;

    let stdin = |input: &str| {
        let args = ["users", "reset-password", "bob", "--password-stdin"];
        run(&identity.db, &args, input, &[])
    };
    stdin("another horse").good();
    identity.login("bob", "another horse").await.expect(200);
    for (input, says) in [
        ("short\n", "at least 8 characters"),
        ("", "at least 8 characters"),
        ("two lines\nof text\n", "more than one line"),
        (&"x".repeat(73), "at most 72 bytes"),
    ] {
        let error = stdin(input).refused(2);
        assert!(error.contains(says), "{error}");
    }
    let typed = identity.admin(&[
        "users",
        "reset-password",
        "bob",
        "--password",
        "secret horse",
    ]);
    assert_eq!(typed.code, 2);
    assert!(!typed.err.contains("secret horse"), "{}", typed.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn command_tables_fit_into_100_columns() {
    let identity = service().await;
    identity.register("ada").await;
    let long = "a-username-that-is-as-long-as-a-username-can-be-which-is-64-char";
    let email = "somebody.with.a.long.name@department.of.a.large.company.example";
    let args = ["users", "create", long, "--email", email, "--json"];
    let made: Value = serde_json::from_str(&identity.admin(&args).good()).unwrap();
    assert_eq!(made["user"]["username"], long);
    identity
        .admin(&[
            "users",
            "set-premium",
            long,
            "--tier",
            "PREMIUM",
            "--until",
            "2999-12-31",
        ])
        .good();
    identity.admin(&["users", "promote", "ada"]).good();
    identity.admin(&["users", "deactivate", long]).good();
    identity.login("ada", "wrong password").await.expect(401);

    for (name, args) in [
        ("users", &["users", "list"][..]),
        ("users_first_page", &["users", "list", "--limit", "1"]),
        ("users_none", &["users", "list", "nobody"]),
        ("user", &["users", "show", "ada"]),
        ("user_premium", &["users", "show", long]),
        ("audit", &["audit"]),
        (
            "audit_first_page",
            &["audit", "--limit", "1", "--action", "session"],
        ),
    ] {
        let text = identity.admin(args).good();
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{widest} columns:\n{text}");
        insta::assert_snapshot!(name, without_moments(&text));
    }
    let keys = identity.admin(&["keys", "list"]).good();
    assert!(
        keys.lines().all(|line| line.chars().count() <= 100),
        "{keys}"
    );
    assert!(keys.contains("signing"), "{keys}");

    let users = identity.admin_json(&["users", "list", "--inactive"]);
    assert_eq!(users["users"][0]["email"], email);
    assert_eq!(users["users"].as_array().unwrap().len(), 1);
    let page = identity.admin_json(&[
        "audit",
        "--user",
        "ada",
        "--since",
        "2020-01-01",
        "--limit",
        "2",
    ]);
    assert_eq!(page["entries"][0]["action"], "session.refused");
    assert_eq!(
        page["entries"][1]["details"],
        json!({ "old": "USER", "new": "SUPERADMIN" })
    );
    assert!(page["next_cursor"].is_i64());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_gets_a_one_line_error_that_says_what_to_do() {
    let identity = service().await;
    identity.register("ada").await;
    identity.register("1001").await;
    identity.register("zoe").await;
    identity.sql("UPDATE users SET username = '1', username_lower = '1' WHERE id = 3");
    for (args, code, says) in [
        (
            &["users", "show", "adda"][..],
            1,
            "`identity-service admin users list add`",
        ),
        (&["users", "show", "77"], 1, "no account with the id 77"),
        (&["users", "show", "1001"], 1, "--id 2"),
        (
            &["users", "show", "1"],
            2,
            "1 is the id of ada and the name of the account 3",
        ),
        (&["users", "create", "ada"], 1, "the username is taken"),
        (&["users", "create", "a!"], 2, "3 to 64"),
        (&["users", "list", "--limit", "0"], 2, "1 to 200"),
        (
            &[
                "users",
                "set-premium",
                "ada",
                "--tier",
                "FREE",
                "--until",
                "2999-01-01",
            ],
            2,
            "--tier PREMIUM",
        ),
        (
            &[
                "users",
                "set-premium",
                "ada",
                "--tier",
                "PREMIUM",
                "--until",
                "2020-01-01",
            ],
            2,
            "in the future",
        ),
        (
            &["keys", "remove", "x"],
            1,
            "`identity-service admin keys list`",
        ),
        (&["audit", "--user", "nobody"], 1, "no account named nobody"),
        (&["audit", "--action", "%"], 2, "session.refused"),
    ] {
        let error = identity.admin(args).refused(code);
        assert!(
            error.starts_with("error: ") && error.contains(says),
            "{args:?}: {error}"
        );
        let json = args.iter().copied().chain(["--json"]).collect::<Vec<_>>();
        let error: Value = serde_json::from_str(&identity.admin(&json).refused(code)).unwrap();
        assert!(
            error["error"].is_string() && error["error_description"].is_string(),
            "{error}"
        );
    }
    for args in [
        &["users"][..],
        &["users", "show"],
        &["users", "show", "--id", "0"],
        &["users", "show", "ada", "--id", "1"],
        &["users", "list", "--role", "BOSS"],
        &["audit", "--since", "yesterday"],
        &["nonsense"],
    ] {
        assert_eq!(identity.admin(args).code, 2, "{args:?}");
    }
    assert_eq!(identity.admin(&["users", "show", "--id", "1"]).code, 0);
    let error = identity
        .admin(&["users", "show", "adda", "--json"])
        .refused(1);
    assert!(error.contains("user_not_found"), "{error}");
    // The id of a key may begin with a hyphen.
    let error = identity.admin(&["keys", "remove", "-x"]).refused(1);
    assert!(error.contains("no retired key -x"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_creates_no_database_or_key_and_migrates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/identity.db");
    let db = TestDb::empty("bare");
    let url = format!("sqlite://{}", missing.display());
    let error = run(
        &db,
        &["users", "list"],
        "",
        &[("IDENTITY__DATABASE__URL", &url)],
    )
    .refused(1);
    assert!(error.contains(missing.to_str().unwrap()), "{error}");
    assert!(!folder.path().join("no").exists());

    // It creates no key either where no service has run, whatever the database.
    let data = folder.path().join("data");
    let db_with_keys = TestDb::empty("keyless");
    drop(
        db_with_keys
            .pool(1)
            .read_blocking(|_| Ok::<_, db_kit::DbError>(())),
    );
    let keyless = Command::new(env!("CARGO_BIN_EXE_identity-service"))
        .args([
            "--data-dir",
            data.to_str().unwrap(),
            "admin",
            "users",
            "list",
        ])
        .env_clear()
        .env("IDENTITY__DATABASE__URL", db_with_keys.url())
        .output()
        .unwrap();
    assert_eq!(keyless.status.code(), Some(1));
    let error = String::from_utf8(keyless.stderr).unwrap();
    assert!(error.contains("identity-keys.key"), "{error}");
    assert!(!data.exists());

    // It does not migrate a database without tables.
    drop(db.pool(1).read_blocking(|_| Ok::<_, db_kit::DbError>(())));
    let error = run(&db, &["users", "list"], "", &[]).refused(1);
    assert!(error.contains("`migrate`"), "{error}");
}

#[test]
fn the_help_of_the_commands_matches_its_snapshots() {
    let db = TestDb::sqlite("help");
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_users", &["users", "--help"]),
        (
            "help_reset_password",
            &["users", "reset-password", "--help"],
        ),
        ("help_keys", &["keys", "--help"]),
    ] {
        insta::assert_snapshot!(name, run(&db, args, "", &[]).good());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_quietly_when_its_output_pipe_is_closed() {
    let identity = Identity::start().await;
    for args in [["users", "list"], ["audit", "--json"], ["keys", "list"]] {
        assert_ends_quietly_if_output_closes(&mut command(&identity.db, &args));
    }
}
