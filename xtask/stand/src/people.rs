//! Accounts, teams and projects, made over HTTP as people make them.

use crate::http::{Client, text};
use serde_json::{Value, json};
use xtask_kit::cmd::{Result, fail};

/// Of every account that is made here.
pub const PASSWORD: &str = "correct horse battery";

/// Makes an account and gives its access token.
pub fn register(identity: &str, username: &str) -> Result<String> {
    let account = json!({"username": username, "password": PASSWORD});
    let pair = Client::new(identity, "").call("POST", "/api/auth/register", &account)?;
    match text(&pair, "/access_token") {
        "" => fail(format!("no token in {pair}")),
        token => Ok(token.to_owned()),
    }
}

/// Makes a team of this name for whoever has the token; gives its id.
pub fn make_team(identity: &str, token: &str, slug: &str) -> Result<Value> {
    let team = json!({"name": slug, "slug": slug});
    let made = Client::new(identity, token).call("POST", "/api/teams", &team)?;
    Ok(made.pointer("/team/id").cloned().unwrap_or_default())
}

/// Makes a project of a team, which is told of at this chat; gives its number.
pub fn make_project(
    worksession: &mut Client,
    team: &Value,
    name: &str,
    chat: &Value,
) -> Result<i64> {
    let project = json!({"team_id": team, "name": name, "chat_channel": "#focus"});
    let made = worksession.call("POST", "/api/team-projects", &project)?;
    let Some(number) = made.pointer("/id").and_then(Value::as_i64) else {
        return fail(format!("no project in {made}"));
    };
    worksession.call("PUT", &format!("/api/team-projects/{number}/chat"), chat)?;
    Ok(number)
}
