//! Creates accounts, teams and projects over HTTP, as users do.

use crate::http::{Client, text};
use serde_json::{Value, json};
use xtask_kit::cmd::{Result, fail};

/// The password of every account created here.
pub const PASSWORD: &str = "correct horse battery";

/// Creates an account and returns its access token.
pub fn register(identity: &str, username: &str) -> Result<String> {
    let account = json!({"username": username, "password": PASSWORD});
    let pair = Client::new(identity, "").call("POST", "/api/auth/register", &account)?;
    match text(&pair, "/access_token") {
        "" => fail(format!("no token in {pair}")),
        token => Ok(token.to_owned()),
    }
}

/// Creates a team with this name, owned by the token's account, and returns its id.
pub fn make_team(identity: &str, token: &str, slug: &str) -> Result<Value> {
    let team = json!({"name": slug, "slug": slug});
    let made = Client::new(identity, token).call("POST", "/api/teams", &team)?;
    Ok(made.pointer("/team/id").cloned().unwrap_or_default())
}

/// Creates a project of a team, which sends its notifications to this chat, and returns its number.
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
