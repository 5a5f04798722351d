//! Questions about tokens on their way to the identity service. Those that wait at the same time go as one, once it has
//! said that it takes several: a question by itself costs both sides more than all that is to be known for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use auth_types::wire::{VALIDATE_BATCH, VALIDATE_BATCH_HEADER, ValidateBatchRequest};
use futures_util::future::join_all;
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use service_kit::http::{RequestId, below};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use url::Url;

use super::identity::PATIENCE;

/// How many requests for several are on their way at the same time: what comes meanwhile goes with the next one.
const AT_ONCE: usize = 2;
/// How long the next request waits for the one before it: as long as an identity service that is well needs at most.
const SOON: Duration = Duration::from_millis(25);
/// The most bytes of tokens in one request. The identity service reads 64 KiB of a body.
const MOST_BYTES: usize = 48 * 1024;

/// The status and the body with which validate answers.
type Told = (StatusCode, Vec<u8>);

/// What validate answers of a token, or why there is no answer.
pub(super) type Answer = Result<Told, String>;

pub(super) struct Questions {
    http: reqwest::Client,
    one: Url,
    several: Url,
    /// Whether the last good answer said that several tokens can be asked about at once.
    takes_several: AtomicBool,
    queue: Mutex<Queue>,
    /// Questions are brought there, not by those who ask: they may go away, and the HTTP server's workers stop one after
    /// the other, while others wait for the same request.
    runtime: Handle,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Question>,
    on_their_way: usize,
}

struct Question {
    token: String,
    request_id: String,
    answer: oneshot::Sender<Answer>,
}

/// The answer about several.
#[derive(Deserialize)]
struct Answers<'a> {
    #[serde(borrow)]
    answers: Vec<One<'a>>,
}

#[derive(Deserialize)]
struct One<'a> {
    status: u16,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// Lets others go when whoever brings questions ends, however he does.
struct Turn {
    questions: Arc<Questions>,
    is_over: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            self.questions.queue().on_their_way -= 1;
        }
    }
}

impl Questions {
    /// To the identity service at `base`, brought by the runtime in which this is called.
    pub(super) fn new(http: reqwest::Client, base: &Url) -> Result<Self, url::ParseError> {
        let at = |path: &str| -> Result<Url, url::ParseError> {
            let mut url = below(base, path)?;
            url.set_query(Some("include=teams"));
            Ok(url)
        };
        Ok(Self {
            http,
            one: at("/api/auth/validate")?,
            several: at("/api/auth/validate/batch")?,
            takes_several: AtomicBool::new(false),
            queue: Mutex::default(),
            runtime: Handle::current(),
        })
    }

    /// What the identity service says of a token, or why it says nothing. Asked after this was called.
    pub(super) async fn ask(self: &Arc<Self>, token: &str, request_id: &RequestId) -> Answer {
        if !self.takes_several.load(Ordering::Relaxed) {
            return self.ask_one(token, request_id.as_str()).await;
        }
        let (answer, answered) = oneshot::channel();
        let question = Question {
            token: token.to_owned(),
            request_id: request_id.as_str().to_owned(),
            answer,
        };
        if let Some(turn) = self.enqueue(question) {
            self.runtime.spawn(Self::bring(turn));
        }
        let gone = |_| Err("nobody brought the question".to_owned());
        answered.await.unwrap_or_else(gone)
    }

    /// Takes a turn too, if there is one left.
    fn enqueue(self: &Arc<Self>, question: Question) -> Option<Turn> {
        let mut queue = self.queue();
        queue.waiting.push_back(question);
        (queue.on_their_way < AT_ONCE).then(|| {
            queue.on_their_way += 1;
            Turn {
                questions: Arc::clone(self),
                is_over: false,
            }
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings what waits, as much of it at a time as goes into one request, until nothing does.
    async fn bring(mut turn: Turn) {
        let questions = Arc::clone(&turn.questions);
        loop {
            let some = questions.take_some(&mut turn);
            if some.is_empty() {
                return;
            }
            let asking = Arc::clone(&questions);
            // Who asked waits no longer than this either.
            let bringing = timeout(PATIENCE, async move { asking.bring_some(some).await });
            // One that is not answered soon holds nobody up, and goes on by itself.
            let _ = timeout(SOON, tokio::spawn(bringing)).await;
        }
    }

    /// What goes into the next request. When nothing waits the turn ends before anything can come that would count on it.
    fn take_some(&self, turn: &mut Turn) -> Vec<Question> {
        let mut queue = self.queue();
        let (mut some, mut bytes) = (Vec::new(), 0);
        while let Some(next) = queue.waiting.front() {
            bytes += next.token.len();
            if some.len() == VALIDATE_BATCH || (bytes > MOST_BYTES && !some.is_empty()) {
                break;
            }
            // Who asked may have gone.
            let next = queue.waiting.pop_front();
            some.extend(next.filter(|next| !next.answer.is_closed()));
        }
        if some.is_empty() {
            queue.on_their_way -= 1;
            turn.is_over = true;
        }
        some
    }

    async fn bring_some(&self, questions: Vec<Question>) {
        let answers = match questions.as_slice() {
            [_] => None,
            several => self.ask_several(several).await,
        };
        let answers = answers.unwrap_or_else(|| questions.iter().map(|_| None).collect());
        let each = questions.into_iter().zip(answers);
        let each = each.map(async |(question, answer)| {
            let answer = match answer {
                Some(answer) => Ok(answer),
                None => self.ask_one(&question.token, &question.request_id).await,
            };
            // Who asked may have gone.
            let _ = question.answer.send(answer);
        });
        join_all(each).await;
    }

    async fn ask_one(&self, token: &str, request_id: &str) -> Answer {
        let request = || {
            self.http
                .get(self.one.clone())
                .header(AUTHORIZATION, format!("Bearer {token}"))
                .header("x-request-id", request_id)
        };
        let response = send(request).await.map_err(|cause| cause.to_string())?;
        let status = response.status();
        if status == StatusCode::OK {
            let told = response.headers().contains_key(VALIDATE_BATCH_HEADER);
            self.takes_several.store(told, Ordering::Relaxed);
        }
        let body = response.bytes().await.map_err(|cause| cause.to_string())?;
        Ok((status, body.to_vec()))
    }

    /// What is said of each, unless that has to be asked alone. None when nothing can be used of what came back: behind
    /// the same name may stand one of an older version, and a proxy that tries another one for a question alone.
    async fn ask_several(&self, questions: &[Question]) -> Option<Vec<Option<Told>>> {
        let tokens = questions.iter().map(|one| one.token.clone()).collect();
        let body = ValidateBatchRequest { tokens };
        let asked = async {
            let response = send(|| self.http.post(self.several.clone()).json(&body)).await?;
            Ok::<_, reqwest::Error>((response.status(), response.bytes().await?))
        };
        let cause = match asked.await {
            Ok((StatusCode::OK, body)) => match read(&body, questions.len()) {
                Ok(answers) => return Some(answers),
                Err(cause) => cause,
            },
            Ok((status, _)) => {
                if status.is_client_error() {
                    self.takes_several.store(false, Ordering::Relaxed);
                }
                format!("answered {status}")
            }
            Err(cause) => cause.to_string(),
        };
        let count = questions.len();
        log::info!("identity service: {count} tokens are asked about one by one: {cause}");
        None
    }
}

/// A kept connection may have been closed under us; asking again is harmless.
async fn send(request: impl Fn() -> RequestBuilder) -> reqwest::Result<Response> {
    match request().send().await {
        Err(cause) if cause.is_request() || cause.is_connect() => request().send().await,
        answer => answer,
    }
}

/// An answer for each of so many; none where it is no verdict.
fn read(body: &[u8], count: usize) -> Result<Vec<Option<Told>>, String> {
    let read: Answers<'_> =
        serde_json::from_slice(body).map_err(|cause| format!("unreadable answer: {cause}"))?;
    if read.answers.len() != count {
        let answers = read.answers.len();
        return Err(format!("gave {answers} answers to {count} questions"));
    }
    let answer = |one: &One<'_>| {
        let verdict = [StatusCode::OK, StatusCode::UNAUTHORIZED];
        let status = verdict.into_iter().find(|status| *status == one.status)?;
        Some((status, one.body.get().as_bytes().to_vec()))
    };
    Ok(read.answers.iter().map(answer).collect())
}
