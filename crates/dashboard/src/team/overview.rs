use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;
use service_kit::http::{Path, Query};
use web_kit::text::with_query;

use super::bodies::{
    Leaderboard, PERIODS, TeamActivity, TeamDetail, TeamProject, TeamProjects, period,
};
use super::week_totals::{WeekTotals, monday};
use crate::api::Slug;
use crate::assets::LIVE;
use crate::form_messages::DoneQuery;
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

const PLACES: &str = "20";

#[derive(Deserialize)]
pub(super) struct OverviewQuery {
    period: Option<String>,
}

#[derive(Template)]
#[template(path = "team/overview.html")]
struct OverviewPage<'a> {
    frame: PageFrame,
    live: &'static str,
    detail: &'a TeamDetail,
    /// The team's page at the identity service.
    people: String,
    zone: TimeFormatter,
    timezone: &'a str,
    activity: &'a TeamActivity,
    total: WeekTotals,
    period: &'static str,
    /// The path of the links to periods.
    board_path: String,
    board: &'a Leaderboard,
    projects: &'a [TeamProject],
}

pub(super) async fn page(
    user: SignedInVisitor,
    Path((slug,)): Path<(Slug,)>,
    query: Query<OverviewQuery>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let (call, period) = (user.call(), period(query.0.period.as_deref()));
    let (team, pairs) = (
        format!("/api/teams/{slug}"),
        [
            ("period", period),
            ("team", slug.as_str()),
            ("limit", PLACES),
        ],
    );
    let board = with_query("/api/leaderboard", &pairs);
    let (data, detail, all, board) = user.on(tokio::try_join!(
        call.user_data(),
        call.identity::<TeamDetail>(&team),
        call.get::<TeamProjects>("/api/team-projects"),
        call.get::<Leaderboard>(&board),
    ))?;
    let mut projects = all.team_projects;
    projects.retain(|project| project.team_id == detail.team.id);
    let (zone, now) = (
        TimeFormatter::new(&data.timezone),
        user.visitor.dashboard.clock.now(),
    );
    // The week is the user's own, and so depends on the time zone in the preferences.
    let since = text::exact(&monday(now, zone));
    let pairs = [("team", slug.as_str()), ("since", &since)];
    let activity = with_query("/api/team-activity", &pairs);
    let activity = user.on(call.get::<TeamActivity>(&activity).await)?;
    let settings = &user.visitor.dashboard.settings;
    let page = OverviewPage {
        frame: user.frame(&detail.team.name, &data).with(done.0.messages()),
        live: LIVE.path(),
        people: settings.account(&format!("/teams/{slug}")),
        zone,
        timezone: &data.timezone,
        total: WeekTotals::from_activity(&activity),
        activity: &activity,
        period,
        board_path: format!("/team/{slug}"),
        board: &board,
        projects: &projects,
        detail: &detail,
    };
    Ok(user.show(StatusCode::OK, &page))
}
