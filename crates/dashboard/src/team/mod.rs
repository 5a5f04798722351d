//! Teams: who is in a session now, what was planned and finished, leaderboards, projects and their chats.

mod board;
mod bodies;
mod chat;
mod choose;
mod manage;
mod overview;
mod project;
mod settings;
mod week;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

use crate::form::step_up;

const PROJECT: &str = "/team/{slug}/projects/{id}";

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    let of_project = |rest: &str| endpoint(&format!("{PROJECT}{rest}"));
    cfg.service(endpoint("/team").get(choose::page))
        .service(endpoint("/leaderboard").get(board::page))
        .service(
            endpoint("/team/{slug}/new-project")
                .get(manage::new_page)
                .post(manage::create),
        )
        .service(endpoint("/team/{slug}").get(overview::page))
        .service(of_project("").get(project::page))
        .service(
            of_project("/settings")
                .get(settings::page)
                .post(manage::save),
        )
        .service(of_project("/archive").get(step_up).post(manage::archive))
        .service(of_project("/chat").get(step_up).post(chat::save))
        .service(of_project("/chat/test").get(step_up).post(chat::test))
        .service(of_project("/chat/adopt").get(step_up).post(chat::adopt))
        .service(of_project("/chat/off").get(step_up).post(chat::switch_off));
}
