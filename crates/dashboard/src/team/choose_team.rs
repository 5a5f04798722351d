use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;

use crate::api::{Team, Teams};
use crate::page_frame::PageFrame;
use crate::visitor::SignedInVisitor;

#[derive(Template)]
#[template(path = "team/choose_team.html")]
struct ChoosePage {
    frame: PageFrame,
    teams: Vec<Team>,
    /// Pages of the identity service.
    all: String,
    new: String,
}

/// Shows the user's teams, or sends the browser to the only one.
pub(super) async fn page(user: SignedInVisitor) -> actix_web::Result<HttpResponse> {
    let call = user.call();
    let (data, found) = user.on(tokio::try_join!(
        call.user_data(),
        call.identity::<Teams>("/api/teams"),
    ))?;
    if let [team] = found.teams.as_slice() {
        return Ok(user.see_other(&format!("/team/{}", team.slug)));
    }
    let settings = &user.visitor.dashboard.settings;
    let page = ChoosePage {
        frame: user.frame(t("team-teams"), &data),
        teams: found.teams,
        all: settings.account("/teams"),
        new: settings.account("/teams/new"),
    };
    Ok(user.show(StatusCode::OK, &page))
}
