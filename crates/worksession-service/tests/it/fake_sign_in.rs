//! The sign-in endpoint of the fake identity service.

use std::time::Duration;

use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use crate::fake_identity::FakeIdentity;

/// A sign-in that reached the identity service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    pub body: Value,
    pub forwarded_for: String,
    pub user_agent: String,
    pub request_id: String,
}

/// The response to a sign-in, in a notation that no JSON library would produce.
pub const TOKENS: &str = r#"{"user": {"id":7,"later":[1.50]},  "refresh_token":"r", "access_token":"a","expires_in":2592000}"#;

/// Responds according to the username.
pub async fn sign_in(
    request: HttpRequest,
    identity: Data<FakeIdentity>,
    body: web::Json<Value>,
) -> HttpResponse {
    let header = |name: &str| {
        let values = request.headers().get_all(name);
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.collect::<Vec<_>>().join(" + ")
    };
    let name = body["username"].as_str().unwrap().to_owned();
    let code = body["totp_code"].as_str().map(str::to_owned);
    identity.sign_ins.lock().unwrap().push(SignIn {
        body: body.into_inner(),
        forwarded_for: header("x-forwarded-for"),
        user_agent: header("user-agent"),
        request_id: header("x-request-id"),
    });
    let error = |code: &str| json!({"error": code, "error_description": format!("about {code}")});
    match (name.as_str(), code.as_deref()) {
        ("ada", _) | ("careful", Some("123456")) => HttpResponse::Ok()
            .content_type("application/json")
            .body(TOKENS),
        ("careful", None) => HttpResponse::Unauthorized().json(error("totp_required")),
        ("eager", _) => HttpResponse::TooManyRequests()
            .insert_header(("retry-after", "17"))
            .json(error("rate_limited")),
        ("late", _) => HttpResponse::ServiceUnavailable()
            .insert_header(("retry-after", "5"))
            .json(error("unavailable")),
        ("odd", _) => HttpResponse::BadRequest().json(error("validation_failed")),
        ("page", _) => HttpResponse::Ok().content_type("text/html").body("<html>"),
        ("moved", _) => HttpResponse::TemporaryRedirect()
            .insert_header(("location", "/health/live"))
            .finish(),
        ("broken", _) => HttpResponse::InternalServerError().finish(),
        ("patient", _) => {
            tokio::time::sleep(Duration::from_secs(4)).await;
            HttpResponse::Ok()
                .content_type("application/json")
                .body(TOKENS)
        }
        _ => HttpResponse::Unauthorized().json(error("invalid_credentials")),
    }
}
