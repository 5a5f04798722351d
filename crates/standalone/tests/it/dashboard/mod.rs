//! The dashboard in front of the real services, in a browser without scripts.

pub mod browser;
mod event_stream;
mod history;
mod settings;
mod sign_in;
mod team;
mod today;

use serde_json::{Value, json};

use crate::harness::{Options, System};

const SECRET: &str = "a-secret-of-at-least-32-characters";

/// Starts the product with the dashboard's client registered, as the standalone and compose do.
pub async fn system() -> System {
    with(json!({})).await
}

/// Starts the same with more configuration of the identity area.
pub async fn with(mut identity: Value) -> System {
    identity["oauth_clients"] = json!([{
        "client_id": "dashboard", "name": "Dashboard", "client_secret": SECRET,
        "redirect_uris": ["http://127.0.0.1/sign-in/callback"], "first_party": true,
    }]);
    System::with(Options {
        identity,
        worksession: json!({
            "dashboard": {"client_id": "dashboard", "client_secret": SECRET},
            "sweep_seconds": 1,
        }),
        ..Options::default()
    })
    .await
}
