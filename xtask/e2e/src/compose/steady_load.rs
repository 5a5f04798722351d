//! Users who send requests at a steady rate, and a record of the responses.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use xtask_fixtures::accounts::{make_project, make_team, register};
use xtask_fixtures::fake_chat::{Chat, mark};
use xtask_fixtures::http::{Client, text};
use xtask_fixtures::lock;
use xtask_kit::cmd::{Result, fail, interrupted};

const PEOPLE: usize = 8;
/// The number of concurrent clients.
const AT_ONCE: usize = 20;
/// Of this many requests, one is a start and one reads the user's data; the others validate a token.
const STARTS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(15);

/// The response to a request, or its failure.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) what: &'static str,
    /// `None` if the connection broke.
    pub(super) status: Option<u16>,
    pub(super) has_retry_after: bool,
    pub(super) at: Instant,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn is_good(&self) -> bool {
        self.status.is_some_and(|status| status < 300)
    }
}

/// Users with accounts, and the starts that were accepted.
pub(super) struct Crowd {
    people: Vec<String>,
    projects: Vec<i64>,
    identity: Mutex<String>,
    worksession: Mutex<String>,
    notes: AtomicUsize,
    accepted: Mutex<Vec<(usize, String)>>,
}

impl Crowd {
    /// Creates accounts, each with a team, a project and a chat whose URL begins with `hook`.
    pub(super) fn gather(identity: &str, worksession: &str, hook: &str) -> Result<Arc<Self>> {
        let (mut people, mut projects) = (Vec::new(), Vec::new());
        for n in 0..PEOPLE {
            let name = format!("person-{n}");
            let token = register(identity, &name)?;
            let team = make_team(identity, &token, &name)?;
            let mut planner = Client::new(worksession, &token);
            let chat = json!({"provider": "slack", "webhook_url": format!("{hook}/{n}")});
            projects.push(make_project(&mut planner, &team, &name, &chat)?);
            people.push(token);
        }
        Ok(Arc::new(Self {
            people,
            projects,
            identity: Mutex::new(identity.to_owned()),
            worksession: Mutex::new(worksession.to_owned()),
            notes: AtomicUsize::new(0),
            accepted: Mutex::default(),
        }))
    }

    /// Sends requests to other addresses from now on.
    pub(super) fn go_by(&self, identity: &str, worksession: &str) {
        identity.clone_into(&mut lock(&self.identity));
        worksession.clone_into(&mut lock(&self.worksession));
    }

    /// Returns the token of the first user.
    pub(super) fn token(&self) -> &str {
        self.people.first().map_or("", String::as_str)
    }

    /// Returns the note and session of each accepted start.
    pub(super) fn accepted(&self) -> Vec<(usize, String)> {
        lock(&self.accepted).clone()
    }

    /// Returns how many accepted starts have not reached the chat.
    pub(super) fn untold(&self, chat: &Chat) -> usize {
        let notes: Vec<usize> = self.accepted().into_iter().map(|(note, _)| note).collect();
        chat.missing(&notes).len()
    }

    /// Sends `rate` requests a second until the drive is ended.
    pub(super) fn drive(self: &Arc<Self>, rate: usize) -> Drive {
        let over = Arc::new(AtomicBool::new(false));
        let answers = Arc::new(Mutex::new(Vec::new()));
        let pause = Duration::from_secs(1) * u32::try_from(AT_ONCE).unwrap_or(1)
            / u32::try_from(rate).unwrap_or(1);
        let threads = (0..AT_ONCE).map(|n| {
            let (crowd, over, answers) =
                (Arc::clone(self), Arc::clone(&over), Arc::clone(&answers));
            std::thread::spawn(move || crowd.go(n, pause, &over, &answers))
        });
        Drive {
            threads: threads.collect(),
            over,
            answers,
            rate,
            begun: Instant::now(),
        }
    }

    fn go(&self, who: usize, pause: Duration, over: &AtomicBool, answers: &Mutex<Vec<Answer>>) {
        let person = who % self.people.len().max(1);
        let token = self.people.get(person).map_or("", String::as_str);
        let client =
            |address: &Mutex<String>| Client::new(&lock(address), token).with_patience(PATIENCE);
        let (mut identity, mut worksession) = (client(&self.identity), client(&self.worksession));
        let mut next = Instant::now() + pause * u32::try_from(who).unwrap_or(0) / 20;
        let mut turn = who;
        while !over.load(Ordering::SeqCst) && !interrupted() {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            next = (next + pause).max(Instant::now());
            turn += 1;
            let answer = match turn % STARTS {
                0 => self.start(&mut worksession, person),
                1 => ask(&mut worksession, "user/data", "GET", "/api/user/data", ""),
                _ => ask(&mut identity, "validate", "GET", "/api/auth/validate", ""),
            };
            lock(answers).push(answer);
        }
    }

    fn start(&self, client: &mut Client, person: usize) -> Answer {
        let note = self.notes.fetch_add(1, Ordering::SeqCst);
        let project = self.projects.get(person).copied().unwrap_or_default();
        let body = json!({
            "category": "writing",
            "duration": 25,
            "project_id": format!("team_{project}"),
            "note": mark(note),
        });
        let path = "/api/clienta_timer_start";
        let answer = ask(client, "start", "POST", path, &body.to_string());
        if answer.is_good() {
            let told: Value = serde_json::from_str(&answer.text).unwrap_or_default();
            lock(&self.accepted).push((note, text(&told, "/session_id").to_owned()));
        }
        answer
    }
}

fn ask(client: &mut Client, what: &'static str, method: &str, path: &str, body: &str) -> Answer {
    let answer = client.ask(method, path, "", body);
    let at = Instant::now();
    match answer {
        Ok(answer) => {
            let has_retry_after = answer.all("retry-after").next().is_some();
            Answer {
                what,
                status: Some(answer.status),
                has_retry_after,
                at,
                text: answer.body,
            }
        }
        Err(failure) => Answer {
            what,
            status: None,
            has_retry_after: false,
            at,
            text: failure.to_string(),
        },
    }
}

/// Users at work. If it is dropped, they go on until the tool ends.
pub(super) struct Drive {
    threads: Vec<JoinHandle<()>>,
    over: Arc<AtomicBool>,
    answers: Arc<Mutex<Vec<Answer>>>,
    rate: usize,
    begun: Instant,
}

impl Drive {
    /// Returns the fewest responses expected by now: a client that waits for a response sends nothing meanwhile.
    pub(super) fn least(&self) -> f64 {
        let rate = u32::try_from(self.rate).map_or(f64::NAN, f64::from);
        0.75 * rate * self.begun.elapsed().as_secs_f64()
    }

    /// Ends the drive and returns all responses in the order in which they arrived.
    pub(super) fn end(self) -> Result<Vec<Answer>> {
        self.over.store(true, Ordering::SeqCst);
        for thread in self.threads {
            if thread.join().is_err() {
                return fail("a client panicked");
            }
        }
        let mut answers = std::mem::take(&mut *lock(&self.answers));
        answers.sort_by_key(|answer| answer.at);
        Ok(answers)
    }
}

/// Counts the responses of each kind, such as `validate 200`.
pub(super) fn tally<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for answer in answers {
        let status = answer
            .status
            .map_or("no answer".to_owned(), |s| s.to_string());
        *counts
            .entry(format!("{} {status}", answer.what))
            .or_insert(0_u32) += 1;
    }
    let counts = counts.iter().map(|(kind, count)| format!("{count} {kind}"));
    counts.collect::<Vec<_>>().join(", ")
}
