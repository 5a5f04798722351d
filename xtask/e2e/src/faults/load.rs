//! Users who start and submit sessions whatever happens to the servers, and a ledger of the responses.
//!
//! A request without a response, or with a 5xx, may have taken effect. It is repeated unchanged, with the same
//! `Idempotency-Key`, until it is answered.

use super::environment::{FaultEnvironment, ProductPart};
use super::markers::{GONE, HOOK_TOKEN, MATRIX};
use super::seeded_random::SeededRandom;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtask_fixtures::accounts::{PASSWORD, make_project, make_team, register};
use xtask_fixtures::fake_chat::mark;
use xtask_fixtures::http::{Client, text};
use xtask_fixtures::lock;
use xtask_kit::cmd::{Result, came_true, fail, nap};

/// Users of each project, including the one with long sessions.
const PEOPLE: usize = 4;
/// The timeout of a request. No response takes that long without faults.
const PATIENCE: Duration = Duration::from_secs(6);
/// A plan of one minute counts as completed from 1.2 s before its end.
const LONG: Duration = Duration::from_secs(59);

/// An accepted start.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) number: usize,
    pub(super) project: usize,
    pub(super) person: usize,
    pub(super) session: String,
    /// When it was first sent.
    pub(super) sent: Instant,
}

/// A user with an account.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) token: String,
    pub(super) project: usize,
    is_patient: bool,
}

/// What the services have confirmed.
#[derive(Default)]
pub(super) struct AnswerLog {
    pub(super) starts: Mutex<Vec<Start>>,
    /// The credited minutes of each user.
    pub(super) minutes: Mutex<BTreeMap<usize, i64>>,
    /// The sessions whose submit was accepted, each with its project.
    pub(super) submits: Mutex<Vec<(String, usize)>>,
    /// Attempts that got no response, a 408 or a 5xx.
    pub(super) unknown: AtomicUsize,
    /// The addresses of the accounts that were created.
    pub(super) mails: Mutex<Vec<String>>,
    /// Responses that no outage explains.
    pub(super) odd: Mutex<Vec<String>>,
    numbers: AtomicUsize,
    over: AtomicBool,
}

/// The users, their projects and their ledger.
pub(super) struct Load<'a> {
    env: &'a FaultEnvironment,
    pub(super) people: Vec<Person>,
    /// The number of each team project. The project whose hook disappears is the last one.
    pub(super) projects: Vec<i64>,
    pub(super) ledger: AnswerLog,
    /// The revision of the hook that disappears.
    pub(super) revision: AtomicUsize,
}

impl<'a> Load<'a> {
    /// Creates accounts, teams, projects and hooks before the first fault.
    pub(super) fn prepare(env: &'a FaultEnvironment) -> Result<Self> {
        let mut load = Self {
            env,
            people: Vec::new(),
            projects: Vec::new(),
            ledger: AnswerLog::default(),
            revision: AtomicUsize::new(0),
        };
        for project in 0..=GONE {
            load.team(project)?;
        }
        Ok(load)
    }

    fn team(&mut self, project: usize) -> Result {
        let identity = self.env.address(ProductPart::Identity)?;
        let slug = format!("team-{project}");
        let owner = register(identity, &format!("person-{project}-0"))?;
        let team = make_team(identity, &owner, &slug)?;
        let mut planner = Client::new(self.env.address(ProductPart::Worksession)?, &owner);
        let name = format!("Project {project}");
        let chat = self.chat(project, 0);
        self.projects
            .push(make_project(&mut planner, &team, &name, &chat)?);
        let mut tokens = vec![owner];
        for n in 1..if project == GONE { 1 } else { PEOPLE } {
            let name = format!("person-{project}-{n}");
            tokens.push(register(identity, &name)?);
            let path = format!("/api/teams/{slug}/members");
            let owner = tokens.first().map_or("", String::as_str);
            Client::new(identity, owner).call("POST", &path, &json!({"username": name}))?;
        }
        let people = tokens.into_iter().zip(1..);
        self.people.extend(people.map(|(token, n)| Person {
            token,
            project,
            is_patient: n == PEOPLE,
        }));
        Ok(())
    }

    /// Returns the settings of a project's chat.
    fn chat(&self, project: usize, revision: usize) -> Value {
        let chat = &self.env.chat;
        if project == MATRIX {
            return json!({
                "provider": "matrix",
                "homeserver_url": format!("http://127.0.0.1:{}", chat.port),
                "room_id": format!("!p{project}:localhost"),
                "access_token": HOOK_TOKEN,
            });
        }
        json!({"provider": "slack", "webhook_url": chat.hook(project, revision)})
    }

    /// Returns the number of accepted starts.
    pub(super) fn accepted(&self) -> usize {
        lock(&self.ledger.starts).len()
    }

    /// Ends the load once every user has the response to their request.
    pub(super) fn end(&self) {
        self.ledger.over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.ledger.over.load(Ordering::SeqCst)
    }

    /// Sleeps, but not beyond the end of the load.
    fn rest(&self, time: Duration) -> Result {
        came_true(time, Duration::from_millis(20).min(time), || {
            Ok(self.is_over())
        })
        .map(drop)
    }

    /// Starts and submits sessions for one user until the end.
    pub(super) fn live(&self, index: usize, mut dice: SeededRandom) -> Result {
        let Some(person) = self.people.get(index) else {
            return fail("no such user");
        };
        let mut client = self.client(&person.token)?;
        let mut open: Vec<Value> = Vec::new();
        while !self.is_over() {
            // A patient user completes a plan, or leaves a longer one after a minute.
            let (plan, time) = if person.is_patient {
                (
                    if dice.one_in(3) { 2 } else { 1 },
                    LONG + dice.millis(0, 6_000),
                )
            } else {
                (1, dice.millis(300, 1_200))
            };
            open.push(self.begin(index, person, plan, &mut client)?);
            self.rest(time)?;
            // Sometimes several sessions wait for their submit: a start ends the session that ran before.
            if person.is_patient || dice.one_in(2) || self.is_over() {
                for session in open.drain(..) {
                    self.submit(index, &session, &mut client)?;
                }
            }
        }
        for session in open.drain(..) {
            self.submit(index, &session, &mut client)?;
        }
        Ok(())
    }

    /// Starts and submits one more session for each user, after everything else.
    pub(super) fn last_words(&self) -> Result {
        for (index, person) in self.people.iter().enumerate() {
            let mut client = self.client(&person.token)?;
            let session = self.begin(index, person, 1, &mut client)?;
            self.submit(index, &session, &mut client)?;
        }
        Ok(())
    }

    /// Starts a session and returns the response.
    fn begin(
        &self,
        index: usize,
        person: &Person,
        plan: u32,
        client: &mut Client,
    ) -> Result<Value> {
        let number = self.ledger.numbers.fetch_add(1, Ordering::SeqCst);
        let mark = mark(number);
        let project = self
            .projects
            .get(person.project)
            .copied()
            .unwrap_or_default();
        let body = json!({
            "category": "coding",
            "duration": plan,
            "project_id": format!("team_{project}"),
            "note": format!("{mark} write the parser"),
        });
        let key = format!("Idempotency-Key: {mark}\r\n");
        let sent = Instant::now();
        let (status, answer) = self.ask(client, "POST", "/api/clienta_timer_start", &key, &body)?;
        match text(&answer, "/session_id") {
            session if !session.is_empty() && matches!(status, 200 | 201) => {
                lock(&self.ledger.starts).push(Start {
                    number,
                    project: person.project,
                    person: index,
                    session: session.to_owned(),
                    sent,
                });
            }
            _ => self.odd(format!("start {mark}: {status} {answer}")),
        }
        Ok(answer)
    }

    /// Submits a session with what its start returned, however much of it has passed.
    fn submit(&self, index: usize, start: &Value, client: &mut Client) -> Result {
        let given = |name: &str| start.pointer(name).cloned().unwrap_or_default();
        let body = json!({
            "session_id": given("/session_id"),
            "category": given("/presession/category"),
            "duration": given("/presession/planned_duration"),
            "project_id": given("/presession/project/id"),
            "note": "it parses",
            "start_time": given("/started_at"),
            // The server credits no more time than it has seen itself.
            "end_time": given("/expected_end_at"),
        });
        let (status, answer) = self.ask(client, "POST", "/api/pomodoro/submit", "", &body)?;
        match answer.pointer("/credited_minutes").and_then(Value::as_i64) {
            Some(minutes) if status == 200 => {
                let session = given("/session_id").as_str().unwrap_or_default().to_owned();
                let project = self.people.get(index).map_or(GONE, |person| person.project);
                lock(&self.ledger.submits).push((session, project));
                *lock(&self.ledger.minutes).entry(index).or_default() += minutes;
            }
            _ => self.odd(format!(
                "submit {}: {status} {answer}",
                given("/session_id")
            )),
        }
        Ok(())
    }

    /// Creates accounts with an address until the end. Each address gets a mail for its verification.
    pub(super) fn newcomers(&self, mut dice: SeededRandom) -> Result {
        let mut client =
            Client::new(self.env.address(ProductPart::Identity)?, "").with_patience(PATIENCE);
        for n in 0.. {
            if self.is_over() {
                break;
            }
            let address = format!("newcomer-{n}@example.org");
            let body = json!({"username": format!("newcomer-{n}"), "email": address, "password": PASSWORD});
            let (status, answer) =
                self.ask(&mut client, "POST", "/api/auth/register", "", &body)?;
            // Only this load uses these names: an earlier request was accepted and its response lost.
            let is_taken = text(&answer, "/error") == "username_taken";
            if status == 201 || (status == 400 && is_taken) {
                lock(&self.ledger.mails).push(address);
            } else {
                self.odd(format!("register newcomer-{n}: {status} {answer}"));
            }
            self.rest(dice.millis(300, 1_500))?;
        }
        Ok(())
    }

    /// Sets a new hook for the project whose hook disappeared.
    pub(super) fn new_hook(&self) -> Result {
        let revision = self.revision.fetch_add(1, Ordering::SeqCst) + 1;
        let mut client = self.owner_of_gone()?;
        let number = self.projects.get(GONE).copied().unwrap_or_default();
        let path = format!("/api/team-projects/{number}/chat");
        let (status, answer) =
            self.ask(&mut client, "PUT", &path, "", &self.chat(GONE, revision))?;
        if status != 200 {
            self.odd(format!("PUT chat: {status} {answer}"));
        }
        Ok(())
    }

    /// Whether the project whose hook disappeared is shown as disabled, with a reason.
    pub(super) fn is_off(&self) -> bool {
        let shown = || -> Result<bool> {
            let number = self.projects.get(GONE).copied().unwrap_or_default();
            let path = format!("/api/team-projects/{number}/chat");
            let answer = self.owner_of_gone()?.json(&path)?;
            let is_off = text(&answer, "/chat/status") == "off";
            Ok(is_off && text(&answer, "/chat/reason").contains("404"))
        };
        shown().unwrap_or(false)
    }

    fn owner_of_gone(&self) -> Result<Client> {
        let owner = self.people.iter().find(|person| person.project == GONE);
        self.client(owner.map_or("", |owner| &owner.token))
    }

    fn client(&self, token: &str) -> Result<Client> {
        let address = self.env.address(ProductPart::Worksession)?;
        Ok(Client::new(address, token).with_patience(PATIENCE))
    }

    /// Repeats a request until it has a definite response.
    fn ask(
        &self,
        client: &mut Client,
        method: &str,
        path: &str,
        headers: &str,
        body: &Value,
    ) -> Result<(u16, Value)> {
        let body = body.to_string();
        let mut pause = Duration::from_millis(100);
        loop {
            match client.send_with(method, path, headers, &body) {
                // 408: a server that has no time to read considers the request slow.
                Ok((status, said)) if status < 500 && status != 408 => {
                    let answer = serde_json::from_str(&said).unwrap_or(Value::String(said));
                    return Ok((status, answer));
                }
                _ => self.ledger.unknown.fetch_add(1, Ordering::SeqCst),
            };
            nap(pause)?;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    fn odd(&self, what: String) {
        lock(&self.ledger.odd).push(what);
    }
}
