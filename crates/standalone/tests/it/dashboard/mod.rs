//! The dashboard before the real services, in a browser without scripts.

pub mod browser;
mod live;
mod look_back;
mod settings;
mod sign_in;
mod team;
mod today;

use serde_json::{Value, json};

use crate::harness::{Options, System};

const SECRET: &str = "a-secret-of-at-least-32-characters";

/// The product with the dashboard's client known, as the standalone and compose see to it.
pub async fn system() -> System {
    with(json!({})).await
}

/// The same with more of the identity area's configuration.
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
