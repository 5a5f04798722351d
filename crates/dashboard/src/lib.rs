//! The web dashboard: plan, focus, finish and look back in a browser, without a desktop client.
//!
//! A service mounts it at `/`. It calls the identity and the work-session service over HTTP, with the tokens of the signed-in
//! user, as any other client does. It has no database, reads no configuration and links neither service. To remove it, remove one
//! dependency and the place that mounts it.

mod api;
mod app_state;
mod assets;
mod event_stream;
mod form;
mod form_messages;
mod history;
mod page_frame;
mod paths;
mod preferences;
mod problem_page;
mod projects;
mod sessions;
mod settings;
mod sign_in;
mod team;
mod text;
mod today;
mod visitor;
mod webhooks;

use actix_web::web::{Data, ServiceConfig};
use service_kit::http::endpoint;

pub use api::ClientError;
pub use app_state::Dashboard;
pub use problem_page::render_problem;
pub use settings::{DashboardSettings, OAuthClient, Sealers};

use paths::RESUME;

/// Adds the dashboard's routes. None of them is under `/api/`, where cookies are ignored.
pub fn configure(cfg: &mut ServiceConfig, dashboard: &Data<Dashboard>) {
    cfg.app_data(dashboard.clone())
        .service(endpoint("/assets/{file}").get(assets::asset))
        .service(endpoint("/live").get(event_stream::live));
    sign_in::routes(cfg);
    cfg.service(endpoint(RESUME).get(form::resume));
    today::routes(cfg);
    sessions::routes(cfg);
    history::routes(cfg);
    preferences::routes(cfg);
    projects::routes(cfg);
    webhooks::routes(cfg);
    team::routes(cfg);
}
