//! Creates and tests webhooks over HTTP.

use serde_json::{Value, json};

use crate::caller::Caller;

const PATH: &str = "/api/webhooks";

/// Creates a webhook; returns it and its secret.
pub async fn create_webhook(caller: &Caller<'_>, body: Value) -> (Value, String) {
    let created = caller.post(PATH, body).await.expect(201).json();
    let secret = created["secret"].as_str().unwrap().to_owned();
    (created["webhook"].clone(), secret)
}

pub fn path_of(webhook: &Value) -> String {
    format!("{PATH}/{}", webhook["id"])
}

/// Requests a test; returns its delivery.
pub async fn request_test(caller: &Caller<'_>, webhook: &Value) -> Value {
    let path = format!("{}/test", path_of(webhook));
    let reply = caller.post(&path, json!({})).await.expect(202).json();
    reply["delivery"].clone()
}
