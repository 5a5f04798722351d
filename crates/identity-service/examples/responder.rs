//! What the HTTP library can do by itself: answers every request with a body of the same size and, if it is given a key,
//! verifies the bearer's signature before. The yardstick of `cargo xtask bench`, which gives it the number of bytes and,
//! for a responder that verifies, a key as a JWK; it prints where it listens.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking and says where it listens"
)]

use actix_web::http::header::{AUTHORIZATION, ContentType};
use actix_web::web::{Bytes, Data, to};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use auth_types::AccessClaims;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};

struct Task {
    body: Bytes,
    key: Option<(DecodingKey, Validation)>,
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let bytes: usize = arguments.next().expect("bytes").parse().unwrap();
    let key = arguments.next().map(|jwk| {
        let jwk: Jwk = serde_json::from_str(&jwk).unwrap();
        let mut validation = Validation::new(Algorithm::ES256);
        validation.validate_aud = false;
        (DecodingKey::from_jwk(&jwk).unwrap(), validation)
    });
    let body = Bytes::from(vec![b'x'; bytes]);
    let task = Data::new(Task { body, key });
    let app = move || {
        App::new()
            .app_data(task.clone())
            .default_service(to(respond))
    };
    let server = HttpServer::new(app).bind(("127.0.0.1", 0))?;
    let address = server.addrs().first().copied().expect("bound");
    println!("listening responder http://{address}");
    server.run().await
}

async fn respond(task: Data<Task>, request: HttpRequest) -> HttpResponse {
    if let Some((key, validation)) = &task.key {
        let header = request.headers().get(AUTHORIZATION).unwrap();
        let token = header.to_str().unwrap().trim_start_matches("Bearer ");
        jsonwebtoken::decode::<AccessClaims>(token, key, validation).unwrap();
    }
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(task.body.clone())
}
