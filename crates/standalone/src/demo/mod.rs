//! The demonstration: one user, a team, projects, and ninety days of plausible sessions.
//!
//! It is made by using the product: the parts run on ports of their own with a clock that is moved through those days, and a
//! client registers, starts and submits. Points, streaks, badges and statistics are therefore as if somebody had really worked.

mod client;
mod plan;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use service_kit::{Clock, ManualClock, crypto};
use thiserror::Error;

use crate::Config;
use crate::running::{self, StartError};
use client::Client;
use plan::{Planned, Project};

/// Marks a data directory whose demonstration is complete.
const MARK: &str = "demo.done";
const USERNAME: &str = "demo";
/// Sign-ins last 30 days; the clock moves by less than that between two refreshes.
const REFRESH_EVERY: TimeDelta = TimeDelta::days(20);

/// The sign-in of the demonstration's user.
#[derive(Debug, Clone)]
pub(crate) struct DemoCredentials {
    /// The user's name.
    pub(crate) username: &'static str,
    /// The password, which differs for each data directory and is the same at every start.
    pub(crate) password: String,
}

impl fmt::Display for DemoCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.username, self.password)
    }
}

/// Why there is no demonstration.
#[derive(Debug, Error)]
pub(crate) enum DemoError {
    #[error(transparent)]
    Start(#[from] StartError),
    /// The data directory cannot be written.
    #[error("{0}: {1}")]
    Mark(PathBuf, std::io::Error),
    #[error("demo: {0}")]
    Call(#[from] reqwest::Error),
    #[error("demo: {call} returned {status}: {body}")]
    Refused {
        /// Method and path.
        call: String,
        status: u16,
        body: String,
    },
    /// A response lacks a field.
    #[error("demo: a response has no {0}")]
    Missing(&'static str),
}

/// Fills the databases once. A second call only returns the sign-in.
///
/// # Errors
/// [`DemoError`]; what was done before stays.
pub(crate) async fn fill(config: &Config) -> Result<DemoCredentials, DemoError> {
    let sign_in = DemoCredentials {
        username: USERNAME,
        password: password(config),
    };
    let mark = config.data_dir.join(MARK);
    if mark.exists() {
        return Ok(sign_in);
    }
    let now = Clock::system().now();
    let (clock, hand) = Clock::manual(now - plan::LENGTH);
    let running = running::start(aside(config), clock).await?;
    let mut client = Client::new(running.identity(), running.worksession())?;
    let outcome = live(&mut client, &sign_in, &hand, now).await;
    running.stop().await;
    outcome?;
    std::fs::write(&mark, "").map_err(|cause| DemoError::Mark(mark, cause))?;
    Ok(sign_in)
}

/// Derives the password. A constant would be everybody's, on a server that is later opened to the world.
fn password(config: &Config) -> String {
    let key = config.identity.secrets.encryption_key.as_ref();
    let tag = key.map_or([0; 32], |key| {
        crypto::hmac_sha256(key.expose(), b"holdfast demo password")
    });
    let mut text = URL_SAFE_NO_PAD.encode(tag);
    text.truncate(16);
    text
}

/// Returns a configuration with the same databases and keys, on ports that nobody knows, without waiting at the end.
fn aside(config: &Config) -> Config {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut config = config.clone();
    config.identity.listen = listen;
    config.identity.drain_seconds = 0;
    config.identity.rate_limits.enabled = Some(false);
    config.worksession.listen = listen;
    config.worksession.drain_seconds = 0;
    config.worksession.rate_limits.enabled = Some(false);
    config.worksession.identity_url = None;
    config.notifier.listen = listen;
    config.notifier.drain_seconds = 0;
    config
}

async fn live(
    client: &mut Client,
    sign_in: &DemoCredentials,
    hand: &ManualClock,
    now: DateTime<Utc>,
) -> Result<(), DemoError> {
    if !client.register(sign_in).await? {
        // An earlier run was interrupted, or the databases are older than the directory: their content stays as it is.
        return Ok(());
    }
    let projects = settle(client).await?;
    let mut refreshed = now - plan::LENGTH;
    for planned in plan::sessions(now) {
        if planned.start - refreshed > REFRESH_EVERY {
            refreshed = planned.start;
            hand.set(refreshed);
            client.refresh().await?;
        }
        work(client, hand, &planned, &projects).await?;
    }
    hand.set(now);
    Ok(())
}

struct Projects {
    team: String,
    personal: String,
}

async fn settle(client: &Client) -> Result<Projects, DemoError> {
    let team = json!({"name": "Lighthouse", "slug": "lighthouse", "description": "A small team with one product"});
    let team = client.identity("/api/teams", team).await?;
    let team_id = team
        .pointer("/team/id")
        .cloned()
        .ok_or(DemoError::Missing("team id"))?;
    let project = json!({
        "team_id": team_id, "name": "Beacon", "description": "The product", "chat_channel": "#focus", "is_public": true,
    });
    let project = client.worksession("/api/team-projects", project).await?;
    let personal = json!({"name": "Learning Rust", "description": "An hour here and there"});
    let personal = client.worksession("/api/projects", personal).await?;
    let id_of = |answer: &serde_json::Value| {
        let id = answer.get("id").or_else(|| answer.pointer("/project/id"));
        id.and_then(serde_json::Value::as_i64)
            .ok_or(DemoError::Missing("project id"))
    };
    Ok(Projects {
        team: format!("team_{}", id_of(&project)?),
        personal: format!("personal_{}", id_of(&personal)?),
    })
}

async fn work(
    client: &Client,
    hand: &ManualClock,
    planned: &Planned,
    projects: &Projects,
) -> Result<(), DemoError> {
    hand.set(planned.start);
    let project = match planned.project {
        Project::Team => projects.team.as_str(),
        Project::Personal => projects.personal.as_str(),
        Project::None => "none",
    };
    let start = json!({
        "category": planned.category, "duration": planned.minutes, "project_id": project, "note": planned.plan,
    });
    let started = client
        .worksession("/api/clienta_timer_start", start)
        .await?;
    let session = started
        .get("session_id")
        .ok_or(DemoError::Missing("session id"))?;
    hand.set(planned.end());
    let submit = json!({
        "session_id": session, "category": planned.category, "duration": planned.minutes,
        "project_id": project, "note": planned.note, "quality_rating": planned.rating,
        "start_time": planned.start, "end_time": planned.end(),
    });
    client.worksession("/api/pomodoro/submit", submit).await?;
    Ok(())
}
