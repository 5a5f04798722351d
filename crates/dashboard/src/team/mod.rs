//! Teams: who is in a session now, what was planned and finished, leaderboards, projects and their chats.

mod bodies;
mod chat;
mod choose_team;
mod leaderboard;
mod manage_project;
mod overview;
mod project;
mod project_settings;
mod week_totals;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

use crate::form::go_up;

const PROJECT: &str = "/team/{slug}/projects/{id}";

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    let of_project = |rest: &str| endpoint(&format!("{PROJECT}{rest}"));
    cfg.service(endpoint("/team").get(choose_team::page))
        .service(endpoint("/leaderboard").get(leaderboard::page))
        .service(
            endpoint("/team/{slug}/new-project")
                .get(manage_project::new_page)
                .post(manage_project::create),
        )
        .service(endpoint("/team/{slug}").get(overview::page))
        .service(of_project("").get(project::page))
        .service(
            of_project("/settings")
                .get(project_settings::page)
                .post(manage_project::save),
        )
        .service(
            of_project("/archive")
                .get(go_up)
                .post(manage_project::archive),
        )
        .service(of_project("/chat").get(go_up).post(chat::save))
        .service(of_project("/chat/test").get(go_up).post(chat::test))
        .service(of_project("/chat/adopt").get(go_up).post(chat::adopt))
        .service(of_project("/chat/off").get(go_up).post(chat::switch_off));
}
