//! An identity service that is asked about several tokens at once, in every way in which it can take that.

use std::sync::Mutex;

use actix_web::HttpResponse;
use actix_web::body::to_bytes;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::web::{self, Data};
use serde_json::{Value, json};

use crate::identity::Stub;

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
    pub fn set(&self, way: Way) {
        *self.way.lock().unwrap() = way;
        self.asked.lock().unwrap().clear();
    }

    fn way(&self) -> Way {
        *self.way.lock().unwrap()
    }

    pub fn asked(&self) -> Vec<usize> {
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
