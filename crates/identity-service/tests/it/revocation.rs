//! A revoked token is refused at once by the process that revoked it, and within a second by every other one,
//! whatever happens meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use db_kit::{DatabaseUrl, Db, Pool, PoolOptions};
use diesel::connection::SimpleConnection as _;
use identity_service::{RunningService, start};
use serde_json::{Value, json};
use service_kit::config::CommaList;
use test_kit::{ApiClient, TestBackend, TestDb};
use tokio::task::JoinHandle;

use crate::credential_helpers::OTHER;
use crate::support::{Identity, PASSWORD, SignedIn, config, count, deps, refused, signed_in};

/// How long another process may still accept a revoked token.
const BOUND: Duration = Duration::from_secs(1);

/// Two processes on one database.
struct Pair {
    here: Identity,
    there: RunningService,
}

impl Pair {
    async fn start() -> Self {
        let here = Identity::start_with(|config| {
            config.sso.allowed_origins = CommaList(vec!["https://app.example.com".to_owned()]);
        })
        .await;
        let there = here.replica(here.running.base_url()).await;
        Self { here, there }
    }

    fn there(&self) -> ApiClient {
        api_of(&self.there)
    }

    async fn sign_in(&self, name: &str) -> SignedIn {
        signed_in(&self.here.login(name, PASSWORD).await.expect(200).json())
    }
}

fn api_of(running: &RunningService) -> ApiClient {
    ApiClient::new(format!("http://{}", running.addr()))
}

async fn validate(api: &ApiClient, token: &str) -> u16 {
    let call = api.get("/api/auth/validate").bearer(token);
    call.send().await.status
}

/// Asks until the expected response comes. A request that is sent after the bound must get it.
async fn within_the_bound<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        let asked = begun.elapsed();
        if let Some(value) = ask().await {
            return value;
        }
        assert!(asked < BOUND, "{what}: not after {asked:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A task that validates a token over and over.
struct Asking {
    over: Arc<AtomicBool>,
    task: JoinHandle<Vec<(Instant, u16)>>,
}

impl Asking {
    fn begin(api: ApiClient, token: &str) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (token, seen_over) = (token.to_owned(), Arc::clone(&over));
        let task = tokio::spawn(async move {
            let mut answers = Vec::new();
            while !seen_over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                answers.push((asked, validate(&api, &token).await));
                tokio::task::yield_now().await;
            }
            answers
        });
        Self { over, task }
    }

    /// Checks that the token was valid at first, and that every request sent from `then` on was refused.
    async fn end(self, then: Instant, whose: &str) {
        self.over.store(true, Ordering::Relaxed);
        let answers = self.task.await.unwrap();
        assert!(answers.iter().any(|(_, status)| *status == 200), "{whose}");
        let late = answers.iter().filter(|(asked, _)| *asked >= then);
        let late: Vec<u16> = late.map(|(_, status)| *status).collect();
        assert!(!late.is_empty(), "{whose}: nobody asked afterwards");
        let wrong = late.iter().filter(|status| **status != 401).count();
        assert_eq!(wrong, 0, "{whose}: {wrong} of {} late answers", late.len());
    }
}

/// The ways in which a token is revoked.
#[derive(Debug, Clone, Copy)]
enum Way {
    Logout,
    LogoutWithRefreshToken,
    GlobalLogout,
    SessionDeleted,
    OthersDeleted,
    RefreshTokenReused,
    PasswordChanged,
    PasswordResetByMail,
    AccountDeleted,
    Deactivated,
    SessionsRevokedByAdmin,
    PasswordResetByAdmin,
}

impl Way {
    const ALL: [Self; 12] = [
        Self::Logout,
        Self::LogoutWithRefreshToken,
        Self::GlobalLogout,
        Self::SessionDeleted,
        Self::OthersDeleted,
        Self::RefreshTokenReused,
        Self::PasswordChanged,
        Self::PasswordResetByMail,
        Self::AccountDeleted,
        Self::Deactivated,
        Self::SessionsRevokedByAdmin,
        Self::PasswordResetByAdmin,
    ];

    /// Revokes `victim` at one process; `other` is another session of the same account.
    async fn revoke(self, at: &Identity, victim: &SignedIn, other: &SignedIn, admin: &SignedIn) {
        let (api, id) = (&at.api, victim.id);
        let user = format!("/api/admin/users/{id}");
        let (call, status) = match self {
            Self::Logout => (api.post("/api/auth/logout").bearer(&victim.access), 200),
            Self::LogoutWithRefreshToken => {
                let body = json!({ "refresh_token": victim.refresh });
                let call = api.post("/api/auth/logout").bearer(&other.access);
                (call.json(body), 200)
            }
            Self::GlobalLogout => {
                let path = "/api/auth/global-logout?redirect_uri=https://app.example.com/";
                (api.get(path).bearer(&other.access), 302)
            }
            Self::SessionDeleted => {
                let list = api.get("/api/auth/sessions").bearer(&victim.access);
                let list = list.send().await.expect(200).json();
                let mut sessions = list["sessions"].as_array().unwrap().iter();
                let current = sessions.find(|session| session["current"] == true);
                let sid = current.unwrap()["id"].as_str().unwrap().to_owned();
                let path = format!("/api/auth/sessions/{sid}");
                (api.delete(&path).bearer(&other.access), 204)
            }
            Self::OthersDeleted => (api.delete("/api/auth/sessions").bearer(&other.access), 204),
            Self::RefreshTokenReused => {
                let refresh = |token: &str| {
                    let body = json!({ "refresh_token": token });
                    api.post("/api/auth/refresh").json(body)
                };
                let next = refresh(&victim.refresh).send().await.expect(200).json();
                refresh(next["refresh_token"].as_str().unwrap())
                    .send()
                    .await
                    .expect(200);
                (refresh(&victim.refresh), 401)
            }
            Self::PasswordChanged => {
                let body = json!({ "current_password": PASSWORD, "new_password": OTHER });
                let call = api.post("/api/auth/password/change");
                (call.bearer(&other.access).json(body), 204)
            }
            Self::PasswordResetByMail => {
                let body = json!({ "email": format!("{self:?}@example.com") });
                at.forgot(body).await.expect(202);
                let token = at.last_link("reset_password");
                let body = json!({ "token": token, "new_password": OTHER });
                (api.post("/api/auth/password/reset").json(body), 204)
            }
            Self::AccountDeleted => {
                let call = api.delete(&format!("/api/auth/user/{id}"));
                let call = call.bearer(&other.access);
                (call.json(json!({ "password": PASSWORD })), 204)
            }
            Self::Deactivated => {
                let call = api.call(reqwest::Method::PATCH, &user);
                let call = call.bearer(&admin.access);
                (call.json(json!({ "is_active": false })), 200)
            }
            Self::SessionsRevokedByAdmin => {
                let call = api.post(&format!("{user}/revoke-sessions"));
                (call.bearer(&admin.access), 200)
            }
            Self::PasswordResetByAdmin => {
                let call = api.post(&format!("{user}/reset-password"));
                (call.bearer(&admin.access), 200)
            }
        };
        call.send().await.expect(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_in_any_way_is_refused_everywhere_under_load() {
    let pair = Arc::new(Pair::start().await);
    let admin = pair.here.register("root").await;
    let role = "UPDATE users SET role = 'SUPERADMIN' WHERE username = 'root'";
    pair.here.sql(role);
    let cases = Way::ALL.map(|way| {
        let (pair, admin) = (Arc::clone(&pair), admin.clone());
        tokio::spawn(async move {
            let name = format!("{way:?}");
            let address = format!("{name}@example.com");
            let victim = pair.here.register_at(&name, &address).await;
            let other = pair.sign_in(&name).await;
            let asking_here = Asking::begin(pair.here.api.clone(), &victim.access);
            let asking_there = Asking::begin(pair.there(), &victim.access);
            tokio::time::sleep(BOUND / 2).await;
            way.revoke(&pair.here, &victim, &other, &admin).await;
            let revoked = Instant::now();
            tokio::time::sleep(BOUND * 3 / 2).await;
            asking_here.end(revoked, &format!("{name} here")).await;
            asking_there
                .end(revoked + BOUND, &format!("{name} there"))
                .await;
        })
    });
    for case in cases {
        case.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restarting_either_process_makes_no_revoked_token_valid_again() {
    let pair = Pair::start().await;
    let first = pair.here.register("ada").await;
    let second = pair.sign_in("ada").await;
    let third = pair.sign_in("ada").await;
    let Pair { here, there } = pair;
    let there_api = api_of(&there);
    for token in [&first.access, &second.access, &third.access] {
        assert_eq!(validate(&there_api, token).await, 200);
    }

    // The process that revoked stops at once. The other one learns of the revocation all the same.
    let logout = here.api.post("/api/auth/logout").bearer(&first.access);
    logout.send().await.expect(200);
    let issuer = here.running.base_url().to_owned();
    let Identity {
        running, db, clock, ..
    } = here;
    running.stop().await;
    let refused_there = async |token: &str| {
        within_the_bound("a refusal", async || {
            (validate(&there_api, token).await == 401).then_some(())
        })
        .await;
    };
    refused_there(&first.access).await;

    let again = || async {
        let mut config = config(&db);
        config.base_url = Some(issuer.parse().unwrap());
        start(config, deps(&clock)).await.unwrap()
    };
    let here = again().await;
    assert_eq!(validate(&api_of(&here), &first.access).await, 401);
    assert_eq!(validate(&api_of(&here), &second.access).await, 200);

    // A process that was down during the revocation refuses the token from the first request on.
    there.stop().await;
    let logout = api_of(&here)
        .post("/api/auth/logout")
        .bearer(&second.access);
    logout.send().await.expect(200);
    let there = again().await;
    let there_api = api_of(&there);
    assert_eq!(validate(&there_api, &second.access).await, 401);
    assert_eq!(validate(&there_api, &third.access).await, 200);
    let logout = there_api.post("/api/auth/logout").bearer(&third.access);
    logout.send().await.expect(200);
    within_the_bound("a refusal", async || {
        (validate(&api_of(&here), &third.access).await == 401).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_another_program_take_effect_within_a_second() {
    let pair = Pair::start().await;
    let ada = pair.here.register("ada").await;
    let ask = |api: ApiClient| {
        let token = ada.access.clone();
        async move {
            let call = api.get("/api/auth/validate?include=teams").bearer(&token);
            let reply = call.send().await;
            (reply.status, reply.json())
        }
    };
    let both = [pair.here.api.clone(), pair.there()];
    let everywhere = async |what: &str, expected: &dyn Fn(u16, &Value) -> bool| {
        for api in &both {
            within_the_bound(what, async || {
                let (status, body) = ask(api.clone()).await;
                expected(status, &body).then_some(())
            })
            .await;
        }
    };
    everywhere("a good token", &|status, _| status == 200).await;
    let write = |statement: &str, kind: &str| {
        pair.here.sql(statement);
        let subject = if kind == "user" {
            ada.id.to_string()
        } else {
            String::new()
        };
        let told = format!("INSERT INTO changes (kind, subject) VALUES ('{kind}', '{subject}')");
        pair.here.sql(&told);
    };

    write("UPDATE users SET premium_tier = 'PREMIUM'", "user");
    everywhere("the plan", &|_, body| body["premium"]["tier"] == "PREMIUM").await;
    write("UPDATE users SET role = 'SUPERADMIN'", "user");
    everywhere("the role", &|_, body| body["user"]["role"] == "SUPERADMIN").await;
    write("UPDATE users SET bio = 'new'", "user");
    everywhere("the profile", &|_, body| body["bio"] == "new").await;

    let team = json!({ "name": "Crew", "slug": "crew" });
    let created = pair.here.api.post("/api/teams").bearer(&ada.access);
    created.json(team).send().await.expect(201);
    everywhere("the team", &|_, body| body["teams"][0]["role"] == "owner").await;
    write("UPDATE teams SET name = 'Renamed'", "teams");
    everywhere("the team's name", &|_, body| {
        body["teams"][0]["name"] == "Renamed"
    })
    .await;

    write("UPDATE users SET is_active = FALSE", "user");
    everywhere("the end", &|status, _| status == 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_change_is_visible_in_the_other_process_within_a_second() {
    let pair = Pair::start().await;
    let root = pair.here.register("root").await;
    let role = "UPDATE users SET role = 'SUPERADMIN' WHERE username = 'root'";
    pair.here.sql(role);
    let ada = pair.here.register_at("ada", "ada@example.com").await;
    let there = pair.there();
    let told = async |what: &str, expected: &dyn Fn(&Value) -> bool| {
        within_the_bound(what, async || {
            let call = there.get("/api/auth/validate?include=teams");
            let body = call.bearer(&ada.access).send().await.expect(200).json();
            expected(&body).then_some(())
        })
        .await;
    };
    let here = &pair.here.api;
    let own = format!("/api/auth/user/{}", ada.id);
    let managed = format!("/api/admin/users/{}", ada.id);
    let change = async |call: test_kit::ApiRequest, by: &SignedIn, body: Value| {
        let status = call.bearer(&by.access).json(body).send().await.status;
        assert!((200..300).contains(&status), "{status}");
    };
    let patch = || here.call(reqwest::Method::PATCH, &managed);
    told("the account", &|body| body["bio"].is_null()).await;

    change(here.put(&own), &ada, json!({ "bio": "new" })).await;
    told("the profile", &|body| body["bio"] == "new").await;
    change(patch(), &root, json!({ "premium_tier": "PREMIUM" })).await;
    told("the plan", &|body| body["premium"]["tier"] == "PREMIUM").await;
    change(patch(), &root, json!({ "role": "SUPERADMIN" })).await;
    told("the role", &|body| body["role"] == "SUPERADMIN").await;
    let token = pair.here.last_link("verify_email");
    pair.here.verify_email(&token).await.expect(204);
    told("the address", &|body| body["email_verified"] == true).await;

    let crew = json!({ "name": "Crew", "slug": "crew" });
    change(here.post("/api/teams"), &root, crew).await;
    let member = json!({ "username": "ada", "role": "admin" });
    change(here.post("/api/teams/crew/members"), &root, member).await;
    told("the team", &|body| body["teams"][0]["role"] == "admin").await;
    let ada_there = "/api/teams/crew/members/ada";
    change(here.put(ada_there), &root, json!({ "role": "member" })).await;
    told("the team role", &|body| {
        body["teams"][0]["role"] == "member"
    })
    .await;
    change(
        here.put("/api/teams/crew"),
        &root,
        json!({ "name": "Gang" }),
    )
    .await;
    told("the name", &|body| body["teams"][0]["name"] == "Gang").await;
    change(here.delete(ada_there), &root, Value::Null).await;
    told("the end", &|body| body["teams"] == json!([])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_does_not_read_the_database_while_the_change_feed_is_up() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let mut rounds = Vec::new();
    for _ in 0..10 {
        // On a busy machine the change feed may be late. Then the service reads the database, which fails here.
        tokio::time::sleep(Duration::from_millis(300)).await;
        identity.validate(&ada.access).await.expect(200);
        identity.sql("ALTER TABLE sessions RENAME TO sessions_away");
        let mut answers = Vec::new();
        for _ in 0..100 {
            answers.push(identity.validate(&ada.access).await.status);
        }
        identity.sql("ALTER TABLE sessions_away RENAME TO sessions");
        if answers.iter().all(|status| *status == 200) {
            return;
        }
        rounds.push(answers);
    }
    panic!("the database was asked each time: {rounds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_cache_each_validation_reads_the_database() {
    let identity = Identity::start_with(|config| config.tokens.remember = false).await;
    let ada = identity.register("ada").await;
    identity.validate(&ada.access).await.expect(200);
    identity.sql("ALTER TABLE sessions RENAME TO sessions_away");
    refused(identity.validate(&ada.access).await, 500, "internal_error");
    identity.sql("ALTER TABLE sessions_away RENAME TO sessions");
    identity.sql("UPDATE sessions SET revoked_at = created_at");
    refused(identity.validate(&ada.access).await, 401, "token_revoked");
}

/// Returns a pool to administer the server of a test's database, and the database's name. On SQLite there is none,
/// because nothing lies between a process and its database that could be cut.
fn server(db: &TestDb) -> Option<(Pool, String)> {
    if TestBackend::current() == TestBackend::Sqlite {
        return None;
    }
    let (server, name) = db.url().rsplit_once('/')?;
    let name = name.split('?').next()?.to_owned();
    let url: DatabaseUrl = format!("{server}/postgres").parse().unwrap();
    Some((Pool::open(PoolOptions::new(url, 1)), name))
}

fn run(pool: &Pool, statements: &str) {
    pool.read_blocking(|db| db.batch_execute(statements).map_err(db_kit::DbError::from))
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_feed_that_is_cut_repeatedly_hides_no_revocation() {
    let pair = Pair::start().await;
    let Some((admin, name)) = server(&pair.here.db) else {
        return;
    };
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity WHERE datname = '{name}' AND application_name = 'holdfast_identity_changes'"
    );
    let over = Arc::new(AtomicBool::new(false));
    let cutting = tokio::task::spawn_blocking({
        let over = Arc::clone(&over);
        move || {
            let mut cuts = 0;
            while !over.load(Ordering::Relaxed) {
                cuts += count(&admin, &cut);
                std::thread::sleep(Duration::from_millis(70));
            }
            cuts
        }
    });
    for round in 0..3 {
        let user = format!("ada{round}");
        let victim = pair.here.register(&user).await;
        let asking = Asking::begin(pair.there(), &victim.access);
        tokio::time::sleep(BOUND / 2).await;
        let logout = pair.here.api.post("/api/auth/logout");
        logout.bearer(&victim.access).send().await.expect(200);
        let revoked = Instant::now();
        tokio::time::sleep(BOUND * 5 / 4).await;
        asking.end(revoked + BOUND, &user).await;
    }
    over.store(true, Ordering::Relaxed);
    assert!(cutting.await.unwrap() > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_feed_and_database_no_token_is_accepted_from_the_cache() {
    let identity = Identity::start().await;
    let Some((admin, name)) = server(&identity.db) else {
        return;
    };
    let ada = identity.register("ada").await;
    identity.validate(&ada.access).await.expect(200);
    run(
        &admin,
        &format!(
            "ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS false; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        ),
    );
    let cut = Instant::now();
    let mut refusals = 0;
    while cut.elapsed() < BOUND * 4 {
        let asked = Instant::now();
        let reply = identity.validate(&ada.access).await;
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "{:?}",
            asked.elapsed()
        );
        if asked >= cut + BOUND {
            let reply = refused(reply, 503, "unavailable");
            assert!(reply.header("retry-after").parse::<u64>().unwrap() > 0);
            refusals += 1;
        }
    }
    assert!(refusals > 0);
    run(
        &admin,
        &format!("ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS true"),
    );
    test_kit::wait_until("the service is back", Duration::from_secs(10), async || {
        (validate(&identity.api, &ada.access).await == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_committed_out_of_order_is_still_read_from_the_feed() {
    let pair = Pair::start().await;
    if TestBackend::current() == TestBackend::Sqlite {
        return;
    }
    let victim = pair.here.register("ada").await;
    let sid: Vec<String> =
        crate::support::texts(&pair.here.db.pool(1), "SELECT id AS t FROM sessions");
    // Another program revokes, and its commit takes long. Its change has a time of an hour ago.
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let (written, begun) = tokio::sync::oneshot::channel();
    let pool = pair.here.db.pool(1);
    let late = tokio::task::spawn_blocking(move || {
        pool.write_tx_blocking(|db: &mut Db| {
            db.batch_execute(&format!(
                "UPDATE sessions SET revoked_at = created_at; \
                 INSERT INTO changes (at, kind, subject) VALUES (now() AT TIME ZONE 'UTC' - INTERVAL '1 hour', 'session', '{}')",
                sid[0]
            ))?;
            let _ = written.send(());
            let _ = wait.recv_timeout(Duration::from_secs(8));
            Ok::<_, db_kit::DbError>(())
        })
        .unwrap();
    });
    begun.await.unwrap();
    // Other changes overtake it, and are read.
    for n in 0..3 {
        let other = pair.here.register(&format!("other{n}")).await;
        assert_eq!(validate(&pair.there(), &other.access).await, 200);
        let logout = pair.here.api.post("/api/auth/logout").bearer(&other.access);
        logout.send().await.expect(200);
        within_the_bound("the other's revocation", async || {
            (validate(&pair.there(), &other.access).await == 401).then_some(())
        })
        .await;
    }
    let asking = Asking::begin(pair.there(), &victim.access);
    tokio::time::sleep(BOUND / 2).await;
    go_on.send(()).unwrap();
    late.await.unwrap();
    let committed = Instant::now();
    tokio::time::sleep(BOUND * 5 / 4).await;
    asking.end(committed + BOUND, "the late one").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_changes_hides_no_revocation() {
    let pair = Pair::start().await;
    let ada = pair.here.register("ada").await;
    let sid = &crate::support::texts(&pair.here.db.pool(1), "SELECT id AS t FROM sessions")[0];
    assert_eq!(validate(&pair.there(), &ada.access).await, 200);
    // More changes than are read at once, with the important one first.
    let pool = pair.here.db.pool(1);
    let series = match TestBackend::current() {
        TestBackend::Sqlite => {
            "WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 12000) \
             INSERT INTO changes (kind, subject) SELECT 'session', 's' || n FROM series"
        }
        TestBackend::Postgres => {
            "INSERT INTO changes (kind, subject) SELECT 'session', 's' || n FROM generate_series(1, 12000) AS n"
        }
    };
    let asking = Asking::begin(pair.there(), &ada.access);
    tokio::time::sleep(BOUND / 4).await;
    pool.write_tx_blocking(|db: &mut Db| {
        db.batch_execute(&format!(
            "UPDATE sessions SET revoked_at = created_at; INSERT INTO changes (kind, subject) VALUES ('session', '{sid}'); {series}"
        ))
        .map_err(db_kit::DbError::from)
    })
    .unwrap();
    let committed = Instant::now();
    tokio::time::sleep(BOUND * 5 / 4).await;
    asking.end(committed + BOUND, "the first of many").await;
}
