//! Users of the product, as one team.

use super::environment::BenchEnvironment;
use super::load::LoadRequest;
use serde_json::json;
use xtask_fixtures::accounts::{make_project, make_team, register};
use xtask_fixtures::fake_chat::{Chat, mark};
use xtask_fixtures::http::Client;
use xtask_kit::cmd::Result;

/// Users in one team with many projects, each of which notifies its own hook.
pub(super) struct LoadUsers {
    pub(super) tokens: Vec<String>,
    /// The ids of the projects as a start contains them: `team_N`.
    pub(super) projects: Vec<String>,
}

impl LoadUsers {
    /// Creates `users` users, a team with all of them, and `projects` projects with a hook each.
    pub(super) fn gather(
        scene: &BenchEnvironment,
        chat: &Chat,
        users: usize,
        projects: usize,
    ) -> Result<Self> {
        let identity = scene.address("identity")?;
        let (mut tokens, mut numbers) = (Vec::new(), Vec::new());
        for n in 0..users {
            tokens.push(register(identity, &format!("bench-user-{n}"))?);
        }
        let first = tokens.first().map_or("", String::as_str);
        let team = make_team(identity, first, "bench")?;
        let mut owner = Client::new(identity, first);
        for n in 1..users {
            let member = json!({"username": format!("bench-user-{n}")});
            owner.call("POST", "/api/teams/bench/members", &member)?;
        }
        let mut planner = Client::new(scene.address("worksession")?, first);
        for n in 0..projects {
            let url = format!("http://127.0.0.1:{}/hook/{n}", chat.port);
            let hook = json!({"provider": "slack", "webhook_url": url});
            let number = make_project(&mut planner, &team, &format!("Project {n}"), &hook)?;
            numbers.push(format!("team_{number}"));
        }
        Ok(Self {
            tokens,
            projects: numbers,
        })
    }

    /// Returns `count` starts, numbered from `from`.
    pub(super) fn starts(&self, from: usize, count: usize) -> Vec<LoadRequest> {
        let who = self.tokens.iter().cycle();
        let what = self.projects.iter().cycle();
        let shots = (from..from + count).zip(who).zip(what);
        let shots = shots.map(|((n, token), project)| {
            let body = json!({
                "category": "coding", "duration": 25, "project_id": project, "note": mark(n),
            });
            LoadRequest::post(token, "/api/clienta_timer_start", body.to_string())
        });
        shots.collect()
    }
}
