//! One's own projects: those of teams are with the teams.

mod changes;
mod pages;

use actix_web::web::ServiceConfig;
use serde::Deserialize;
use service_kit::http::endpoint;

use crate::form::step_up;

const PATH: &str = "/settings/projects";
const API: &str = "/api/projects";

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    let of_one = |rest: &str| endpoint(&format!("{PATH}/{{id}}{rest}"));
    cfg.service(endpoint(PATH).get(pages::list).post(changes::create))
        .service(of_one("").get(pages::one).post(changes::save))
        .service(of_one("/archive").get(step_up).post(changes::archive));
}

/// A project, in lists and alone.
#[derive(Debug, Clone, Deserialize)]
struct OwnProject {
    id: i64,
    name: String,
    description: String,
    archived: bool,
}

/// `GET /api/projects`.
#[derive(Deserialize)]
struct OwnProjects {
    /// The oldest first.
    projects: Vec<OwnProject>,
}

/// `GET /api/projects/{id}`.
#[derive(Deserialize)]
struct One {
    project: OwnProject,
}

/// A project as it is typed.
#[derive(Debug, Clone, Default, Deserialize)]
struct Typed {
    name: String,
    #[serde(default)]
    description: String,
}
