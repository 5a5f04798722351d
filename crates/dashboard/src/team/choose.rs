use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;

use crate::api::{Team, Teams};
use crate::frame::PageFrame;
use crate::visitor::Member;

#[derive(Template)]
#[template(path = "team/choose.html")]
struct ChoosePage {
    frame: PageFrame,
    teams: Vec<Team>,
    /// Pages of the identity service.
    all: String,
    new: String,
}

/// Shows the user's teams, or sends the browser to the only one.
pub(super) async fn page(member: Member) -> actix_web::Result<HttpResponse> {
    let call = member.call();
    let (data, found) = member.on(tokio::try_join!(
        call.user_data(),
        call.identity::<Teams>("/api/teams"),
    ))?;
    if let [team] = found.teams.as_slice() {
        return Ok(member.see_other(&format!("/team/{}", team.slug)));
    }
    let settings = &member.visitor.dashboard.settings;
    let page = ChoosePage {
        frame: member.frame("Teams", &data),
        teams: found.teams,
        all: settings.account("/teams"),
        new: settings.account("/teams/new"),
    };
    Ok(member.show(StatusCode::OK, &page))
}
