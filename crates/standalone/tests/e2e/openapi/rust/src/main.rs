//! The main job with the clients that progenitor has generated. With the name of a service, prints the client of that service.

use std::env;
use std::error::Error;

use base64::prelude::*;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use worksession::types::GetLeaderboardPeriod;

/// The client of the identity service.
#[allow(clippy::all, unused)]
mod identity {
    include!(concat!(env!("OUT_DIR"), "/identity.rs"));
}

/// The client of the work-session service.
#[allow(clippy::all, unused)]
mod worksession {
    include!(concat!(env!("OUT_DIR"), "/worksession.rs"));
}

const PASSWORD: &str = "correct horse battery";
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1).as_deref() {
        Some("identity") => print!("{}", include_str!(concat!(env!("OUT_DIR"), "/identity.rs"))),
        Some(_) => print!("{}", include_str!(concat!(env!("OUT_DIR"), "/worksession.rs"))),
        None => do_main_job().await?,
    }
    Ok(())
}

async fn do_main_job() -> Result<(), Box<dyn Error>> {
    let name = env::var("NAME")?;
    let (accounts, timer) = (env::var("IDENTITY")?, env::var("WORKSESSION")?);
    let anonymous = identity::Client::new(&accounts);
    let credentials = json!({"username": name, "password": PASSWORD});
    anonymous.register(&body(credentials.clone())?).await?;
    let pair = anonymous.sign_in(&body(credentials)?).await?;

    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, format!("Bearer {}", pair.access_token).parse()?);
    let http = reqwest::Client::builder().default_headers(headers).build()?;
    let accounts = identity::Client::new_with_client(&accounts, http.clone());
    let timer = worksession::Client::new_with_client(&timer, http);

    let team = json!({"name": "Night shift", "slug": name});
    accounts.create_team(&body(team)?).await?;
    let teams = accounts.list_teams().await?;
    let slugs: Vec<&str> = teams.teams.iter().map(|team| team.slug.as_str()).collect();
    println!("Teams: {}", slugs.join(" "));

    let photo = BASE64_STANDARD.decode(PIXEL)?;
    let photo = accounts.upload_profile_photo(&pair.user.id, photo).await?;
    println!("Photo: {}", photo.has_photo);

    timer.update_preferences(&body(json!({"leaderboard_opt_in": true}))?).await?;
    let plan = json!({"category": "coding", "duration": 25});
    let started = timer.start_session(None, &body(plan)?).await?;
    println!("Planned: {}", started.presession.planned_duration);
    let result = json!({
        "session_id": started.session_id, "quality_rating": 4,
        "start_time": started.started_at, "end_time": started.started_at,
    });
    let submitted = timer.submit_session(&body(result)?).await?;
    println!("Status: {}", submitted.status);
    let board = timer.get_leaderboard(None, None, Some(GetLeaderboardPeriod::Day), None);
    println!("Board: {}", board.await?.period);
    Ok(())
}

/// Returns the body of a request, if it fits the type.
fn body<T: DeserializeOwned>(json: Value) -> serde_json::Result<T> {
    serde_json::from_value(json)
}
