//! The system under test, in this process, with a clock that the test moves.

mod bodies;

use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use broker::{Broker, BrokerUrl};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use service_kit::{Clock, ManualClock};
use tempfile::TempDir;
use test_kit::{ApiClient, ApiResponse, FakeChat, TestBroker, TestDb};

use crate::settings::merged;
use crate::tcp_proxy::TcpProxy;

pub use bodies::{execution, iso, plan};

pub const PASSWORD: &str = "correct horse battery";

/// Both areas and the notifier, each on its own database, with a chat server beside them.
pub struct System {
    pub identity: ApiClient,
    pub work: ApiClient,
    pub notifier: ApiClient,
    /// Moves the clock of all parts.
    pub clock: ManualClock,
    pub chat: FakeChat,
    time: Clock,
    broker: Broker,
    proxies: Option<[TcpProxy; 2]>,
    running: Option<(
        Mutex<Option<identity_service::RunningService>>,
        worksession_service::RunningService,
        notifier::Running,
    )>,
    /// Those of the identity service, the work-session service and the notifier.
    pub databases: [TestDb; 3],
    _broker: TestBroker,
    data: TempDir,
}

/// What a test changes in the configuration.
#[derive(Default)]
pub struct Options {
    pub identity: Value,
    pub worksession: Value,
    pub notifier: Value,
    /// Whether the proxies to PostgreSQL and RabbitMQ can be cut.
    pub outages: bool,
}

/// A registered user.
#[derive(Clone)]
pub struct User {
    pub id: i64,
    pub name: String,
    pub token: String,
}

/// A team and its project.
pub struct Team {
    pub id: i64,
    pub slug: String,
    /// The number in `team_N`.
    pub project: i64,
}

impl Team {
    /// Returns the project's id as starts and submits name it.
    pub fn project_id(&self) -> String {
        format!("team_{}", self.project)
    }
}

impl System {
    /// Starts everything with defaults; the clock stands at nine on a Monday morning.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        let databases = ["identity", "worksession", "notifier"].map(TestDb::empty);
        let test_broker = TestBroker::fresh();
        let data = tempfile::tempdir().unwrap();
        let chat = FakeChat::start().await;
        let (time, clock) = Clock::manual("2026-11-23T09:00:00Z".parse().unwrap());
        let mut urls = databases
            .each_ref()
            .map(|database| database.url().to_owned());
        let mut broker_url = test_broker.url().to_owned();
        let mut proxies = None;
        if options.outages {
            let (to_broker, url) = TcpProxy::to(&broker_url).await;
            broker_url = url;
            let (to_database, url) = TcpProxy::to(&urls[0]).await;
            let server = url.rsplit_once('/').unwrap().0;
            for url in &mut urls {
                *url = format!("{server}/{}", url.rsplit_once('/').unwrap().1);
            }
            proxies = Some([to_broker, to_database]);
        }
        let url = BrokerUrl::from_str(&broker_url).unwrap();
        let broker = Broker::connect(&url, test_broker.prefix(), "tests");

        let common = |url: &str| {
            json!({
                "listen": "127.0.0.1:0",
                "drain_seconds": 0,
                "data_dir": data.path(),
                "database": {"url": url, "pool_size": 6},
            })
        };
        let guard = json!({"allowed_cidrs": "127.0.0.0/8", "allow_plain": true});

        let own = json!({
            "workers": 1,
            "password": {"bcrypt_cost": 4, "allow_weak_cost": true},
            "rate_limits": {"enabled": false},
        });
        let config = merged([common(&urls[0]), own, options.identity]);
        let deps = identity_service::Deps {
            clock: time.clone(),
            broker: broker.clone(),
            has_consumers: true,
        };
        let identity = identity_service::start(config, deps)
            .await
            .expect("identity starts");

        // Without an interval between messages to one chat: it would not end while the clock stands still.
        let own = json!({"http": guard, "chat": {"interval_ms": 0}});
        let config = merged([common(&urls[2]), own, options.notifier]);
        let deps = notifier::Deps {
            clock: time.clone(),
            broker: broker.clone(),
        };
        let notifier = notifier::start(config, deps)
            .await
            .expect("the notifier starts");

        let own = json!({
            "workers": 1,
            "identity_url": format!("http://{}", identity.addr()),
            "http": guard,
            "rate_limits": {"enabled": false},
        });
        let config = merged([common(&urls[1]), own, options.worksession]);
        let deps = worksession_service::Deps {
            clock: time.clone(),
            broker: broker.clone(),
            bodies: Some(identity.bodies().clone()),
        };
        let worksession = worksession_service::start(config, deps)
            .await
            .expect("worksession starts");

        Self {
            identity: ApiClient::new(format!("http://{}", identity.addr())),
            work: ApiClient::new(format!("http://{}", worksession.addr())),
            notifier: ApiClient::new(format!("http://{}", notifier.addr())),
            clock,
            chat,
            time,
            broker,
            proxies,
            running: Some((Mutex::new(Some(identity)), worksession, notifier)),
            databases,
            _broker: test_broker,
            data,
        }
    }

    /// Stops the identity service for good.
    pub async fn stop_identity(&self) {
        if let Some((identity, ..)) = &self.running {
            stop(identity).await;
        }
    }

    /// Returns the proxy to RabbitMQ; only with [`Options::outages`].
    pub fn broker_proxy(&self) -> &TcpProxy {
        &self.proxies.as_ref().unwrap()[0]
    }

    /// Returns the proxy to PostgreSQL; only with [`Options::outages`].
    pub fn database_proxy(&self) -> &TcpProxy {
        &self.proxies.as_ref().unwrap()[1]
    }

    /// Waits for a mail to this address whose subject contains these words; returns the text of the newest.
    pub async fn mail(&self, to: &str, subject: &str) -> String {
        let what = format!("a mail to {to} about {subject:?}");
        let newest = async || self.mails(to, subject).pop();
        test_kit::wait_until(&what, Duration::from_secs(20), newest).await
    }

    /// Returns the texts of all such mails so far, oldest first.
    pub fn mails(&self, to: &str, subject: &str) -> Vec<String> {
        let Ok(folder) = std::fs::read_dir(self.data.path().join("mail")) else {
            return Vec::new();
        };
        let mut files: Vec<_> = folder
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "eml"))
            .collect();
        files.sort();
        let texts = files.into_iter().filter_map(|path| {
            let raw = std::fs::read(path).unwrap();
            let mail = mail_parser::MessageParser::default().parse(&raw)?;
            let is_it = mail.to()?.first()?.address()? == to
                && mail.subject()?.to_lowercase().contains(subject);
            is_it.then(|| mail.body_text(0).unwrap().into_owned())
        });
        texts.collect()
    }

    /// Returns the time of the clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.time.now()
    }

    /// Moves the clock.
    pub fn minutes_pass(&self, minutes: i64) {
        self.clock.advance(TimeDelta::minutes(minutes));
    }

    /// Registers a user with [`PASSWORD`].
    pub async fn register_user(&self, name: &str) -> User {
        let body = json!({"username": name, "password": PASSWORD});
        let reply = self
            .identity
            .post("/api/auth/register")
            .json(body)
            .send()
            .await
            .expect(201);
        let tokens = reply.json();
        User {
            id: tokens["user"]["id"].as_i64().unwrap(),
            name: name.to_owned(),
            token: tokens["access_token"].as_str().unwrap().to_owned(),
        }
    }

    /// Creates a team of `owner` with one project, which has no chat yet.
    pub async fn team_with_project(&self, owner: &User, slug: &str) -> Team {
        let body = json!({"name": format!("Team {slug}"), "slug": slug});
        let call = self
            .identity
            .post("/api/teams")
            .bearer(&owner.token)
            .json(body);
        let id = call.send().await.expect(201).json()["team"]["id"]
            .as_i64()
            .unwrap();
        let project = self.team_project(owner, id, "Beacon").await;
        Team {
            id,
            slug: slug.to_owned(),
            project,
        }
    }

    /// Creates a further project of a team.
    pub async fn team_project(&self, owner: &User, team: i64, name: &str) -> i64 {
        let body = json!({"team_id": team, "name": name, "chat_channel": "#focus"});
        let call = self
            .work
            .post("/api/team-projects")
            .bearer(&owner.token)
            .json(body);
        id_of(&call.send().await.expect(201).json())
    }

    /// Adds a registered user to a team.
    pub async fn add_member(&self, owner: &User, team: &Team, member: &User) {
        let body = json!({"username": member.name});
        let path = format!("/api/teams/{}/members", team.slug);
        self.identity
            .post(&path)
            .bearer(&owner.token)
            .json(body)
            .send()
            .await
            .expect(201);
    }

    /// Connects a team project with the hook `name` of [`System::chat`].
    pub async fn connect_chat(&self, owner: &User, team: &Team, name: &str) {
        let body = json!({"provider": "slack", "webhook_url": self.chat.hook(name)});
        let path = format!("/api/team-projects/{}/chat", team.project);
        self.work
            .put(&path)
            .bearer(&owner.token)
            .json(body)
            .send()
            .await
            .expect(200);
    }

    /// Creates a personal project.
    pub async fn personal_project(&self, user: &User, name: &str) -> i64 {
        let body = json!({"name": name});
        let call = self
            .work
            .post("/api/projects")
            .bearer(&user.token)
            .json(body);
        id_of(&call.send().await.expect(201).json())
    }

    /// Starts a session, whatever the response.
    pub async fn start_session(&self, user: &User, body: Value) -> ApiResponse {
        self.work
            .post("/api/clienta_timer_start")
            .bearer(&user.token)
            .json(body)
            .send()
            .await
    }

    /// Starts a session of 25 minutes on a project; returns its id.
    pub async fn started(&self, user: &User, project_id: &str) -> String {
        let body = plan(project_id);
        let reply = self.start_session(user, body).await.expect(201);
        reply.json()["session_id"].as_str().unwrap().to_owned()
    }

    /// Submits, whatever the response.
    pub async fn submit(&self, user: &User, body: Value) -> ApiResponse {
        self.work
            .post("/api/pomodoro/submit")
            .bearer(&user.token)
            .json(body)
            .send()
            .await
    }

    /// Returns the user's own data.
    pub async fn user_data(&self, user: &User) -> Value {
        self.work
            .get("/api/user/data")
            .bearer(&user.token)
            .send()
            .await
            .expect(200)
            .json()
    }
}

/// Stops the identity service, if it runs.
async fn stop(identity: &Mutex<Option<identity_service::RunningService>>) {
    let running = identity.lock().unwrap().take();
    if let Some(running) = running {
        running.stop().await;
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let Some((identity, worksession, notifier)) = self.running.take() else {
            return;
        };
        if std::thread::panicking() {
            return;
        }
        // Without this, the servers' threads would live as long as the test binary.
        let stopped = async {
            stop(&identity).await;
            tokio::join!(worksession.stop(), notifier.stop());
            self.broker.close().await;
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(stopped));
    }
}

/// Returns the `id` of a project that was just created.
fn id_of(answer: &Value) -> i64 {
    let id = answer["project"]["id"]
        .as_i64()
        .or_else(|| answer["id"].as_i64());
    id.unwrap_or_else(|| panic!("no id in {answer}"))
}
