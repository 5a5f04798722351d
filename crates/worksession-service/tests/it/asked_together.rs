//! An identity service that takes questions about several tokens at once, in every way in which it can, and those who
//! ask it together.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::body::to_bytes;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::web::{self, Data};
use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::{Reply, wait_until};

use crate::identity::{Service, Stub};
use crate::identity_down::assert_unavailable;

/// What the stub does about several tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// It has never heard of it, as other identity services.
    #[default]
    Unheard,
    /// It says that it takes them, and does.
    Answers,
    /// It says so, and another one behind the same name has never heard of it.
    SaysSo,
    /// It leaves one out.
    LeavesOneOut,
    Rubbish,
    Fails,
    /// It has no time for every third of them.
    SaysNothingOfSome,
    IsSilent,
}

#[derive(Default)]
pub struct Several {
    way: Mutex<Way>,
    /// How many tokens each request brought.
    asked: Mutex<Vec<usize>>,
}

impl Several {
    fn set(&self, way: Way) {
        *self.way.lock().unwrap() = way;
        self.asked.lock().unwrap().clear();
    }

    fn way(&self) -> Way {
        *self.way.lock().unwrap()
    }

    fn asked(&self) -> Vec<usize> {
        self.asked.lock().unwrap().clone()
    }

    /// Says of good tokens' answers whether several are taken.
    pub fn tell(&self, headers: &mut HeaderMap) {
        if self.way() != Way::Unheard {
            let name = HeaderName::from_static("x-validate-batch");
            headers.insert(name, HeaderValue::from_static("64"));
        }
    }
}

pub async fn answer(stub: Data<Stub>, body: web::Json<Value>) -> HttpResponse {
    let tokens = body["tokens"].as_array().unwrap().clone();
    stub.several.asked.lock().unwrap().push(tokens.len());
    match stub.several.way() {
        Way::Unheard | Way::SaysSo => return HttpResponse::NotFound().finish(),
        Way::Fails => return HttpResponse::InternalServerError().finish(),
        Way::Rubbish => return HttpResponse::Ok().body("<html>"),
        Way::IsSilent => std::future::pending::<()>().await,
        Way::Answers | Way::LeavesOneOut | Way::SaysNothingOfSome => {}
    }
    let mut answers = Vec::new();
    for (nth, token) in tokens.into_iter().enumerate() {
        if nth % 3 == 0 && stub.several.way() == Way::SaysNothingOfSome {
            answers.push(json!({ "status": 503, "body": { "error": "unavailable" } }));
            continue;
        }
        let answer = stub.judge(token.as_str().unwrap().to_owned()).await;
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body()).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        answers.push(json!({ "status": status, "body": body }));
    }
    if stub.several.way() == Way::LeavesOneOut {
        answers.pop();
    }
    HttpResponse::Ok().json(json!({ "answers": answers }))
}

const CROWD: i64 = 100;

/// A crowd asks at once; of every ten one has a bad token.
async fn crowd(service: &Service) -> Vec<Reply> {
    let token = |id: i64| match id % 10 {
        0 => "bad".to_owned(),
        _ => format!("member-{id}"),
    };
    let ask = async |id| {
        let call = service.api.get("/api/user/data").bearer(&token(id));
        call.send().await
    };
    join_all((0..CROWD).map(ask)).await
}

/// Everybody gets the answer that is his.
fn assert_own(replies: &[Reply]) {
    for (id, reply) in (0..CROWD).zip(replies) {
        match id % 10 {
            0 => assert_eq!(reply.status, 401, "{}", reply.text()),
            _ => {
                assert_eq!(reply.status, 200, "{}", reply.text());
                assert_eq!(reply.json()["userId"], id.to_string());
            }
        }
    }
}

/// A service that knows, by an answer, whether several tokens are taken.
async fn service(way: Way) -> (Service, Stub) {
    let (service, stub) = Service::with_stub(0).await;
    stub.several.set(way);
    let call = service.api.get("/api/user/data").bearer("member-1");
    call.send().await.expect(200);
    (service, stub)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_together_with_others_gets_the_answer_that_is_his() {
    let (service, stub) = service(Way::Answers).await;
    let before = stub.asked();
    for _ in 0..5 {
        assert_own(&crowd(&service).await);
    }
    let asked = stub.several.asked();
    assert!(
        asked.iter().all(|count| (2..=64).contains(count)),
        "{asked:?}"
    );
    // Whoever finds nobody on the way asks by himself.
    let alone = stub.asked() - before;
    let together: usize = asked.iter().sum();
    assert_eq!(alone + together, 500);
    assert!(asked.len() + alone < 250, "{asked:?} and {alone}");
    // A scope that is missing is missing here too.
    let call = service.api.get("/api/projects").bearer("user-openid");
    call.send().await.expect(403);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_service_that_never_said_so_is_asked_one_by_one() {
    let (service, stub) = service(Way::Unheard).await;
    assert_own(&crowd(&service).await);
    assert!(stub.several.asked().is_empty());
    assert_eq!(stub.asked(), 101);
    // One that said so, and is replaced by one that takes no several.
    stub.several.set(Way::SaysSo);
    let call = service.api.get("/api/user/data").bearer("member-1");
    call.send().await.expect(200);
    assert_own(&crowd(&service).await);
    stub.several.set(Way::Unheard);
    let call = service.api.get("/api/user/data").bearer("member-1");
    call.send().await.expect(200);
    assert_own(&crowd(&service).await);
    assert_own(&crowd(&service).await);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_of_an_answer_is_asked_one_by_one() {
    for way in [
        Way::LeavesOneOut,
        Way::Rubbish,
        Way::Fails,
        Way::SaysNothingOfSome,
    ] {
        let (service, stub) = service(way).await;
        for _ in 0..3 {
            assert_own(&crowd(&service).await);
        }
        assert!(!stub.several.asked().is_empty(), "{way:?}");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_falls_silent_refuses_those_who_asked_and_holds_nobody_up() {
    let (service, stub) = service(Way::IsSilent).await;
    let began = Instant::now();
    let replies = crowd(&service).await;
    assert!(began.elapsed() < Duration::from_secs(4));
    assert!(!stub.several.asked().is_empty());
    let refused: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 503).collect();
    assert!(refused.len() > 20, "{}", refused.len());
    for reply in refused {
        assert_unavailable(reply);
    }
    // Whoever was let in is who he says.
    for (id, reply) in (0..CROWD).zip(&replies) {
        if reply.status == 200 {
            assert_eq!(reply.json()["userId"], id.to_string());
        }
    }
    // It is back: nothing that hung before holds anybody up.
    stub.several.set(Way::Answers);
    wait_until(
        "everybody is answered",
        Duration::from_secs(5),
        async || {
            let replies = crowd(&service).await;
            let is_back = replies.iter().all(|reply| reply.status != 503);
            is_back.then(|| assert_own(&replies))
        },
    )
    .await;
    service.stop().await;
}
