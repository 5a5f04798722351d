use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;
use service_kit::http::{Path, Query};
use web_kit::text::with_query;

use super::bodies::{Board, PERIODS, TeamDetail, TeamProject, TeamProjects, period};
use super::week::{Sums, Week, monday};
use crate::api::{Slug, UserData};
use crate::assets::LIVE;
use crate::frame::Frame;
use crate::notices::Notices;
use crate::text::{self, Clockface};
use crate::visitor::Member;

/// Places of the board.
const PLACES: &str = "20";

#[derive(Deserialize)]
pub(super) struct OverviewQuery {
    period: Option<String>,
    done: Option<String>,
}

#[derive(Template)]
#[template(path = "team/overview.html")]
struct OverviewPage<'a> {
    frame: Frame,
    notices: Notices,
    live: &'static str,
    detail: &'a TeamDetail,
    /// The identity service's page of the team.
    people: String,
    running: Vec<Working>,
    timezone: &'a str,
    week: &'a Week,
    total: Sums,
    period: &'static str,
    /// What the links of periods begin with.
    board_path: String,
    board: &'a Board,
    projects: &'a [TeamProject],
}

/// Somebody who is in a session.
struct Working {
    session: String,
    username: String,
    what: String,
    until: String,
}

/// Shows a team.
pub(super) async fn page(
    member: Member,
    Path((slug,)): Path<(Slug,)>,
    query: Query<OverviewQuery>,
) -> actix_web::Result<HttpResponse> {
    let (call, period) = (member.call(), period(query.0.period.as_deref()));
    let pairs = [
        ("period", period),
        ("team", slug.as_str()),
        ("limit", PLACES),
    ];
    let (board, team) = (
        with_query("/api/leaderboard", &pairs),
        format!("/api/teams/{slug}"),
    );
    let (data, detail, all, board) = member.on(tokio::try_join!(
        call.get::<UserData>("/api/user/data"),
        call.identity::<TeamDetail>(&team),
        call.get::<TeamProjects>("/api/team-projects"),
        call.get::<Board>(&board),
    ))?;
    let mut projects = all.team_projects;
    projects.retain(|project| project.team_id == detail.team.id);
    let (face, now) = (
        Clockface::of(&data.timezone),
        member.visitor.dashboard.clock.now(),
    );
    let week = Week::load(call, &projects, monday(now, face), now);
    let week = member.on(week.await)?;
    let settings = &member.visitor.dashboard.settings;
    let page = OverviewPage {
        frame: member.frame(&detail.team.name, &data),
        notices: Notices::done(query.0.done.as_deref()),
        live: LIVE.path(),
        people: settings.account(&format!("/teams/{slug}")),
        running: working(&week, face),
        timezone: &data.timezone,
        total: week.total(),
        week: &week,
        period,
        board_path: format!("/team/{slug}"),
        board: &board,
        projects: &projects,
        detail: &detail,
    };
    Ok(member.show(StatusCode::OK, &page))
}

fn working(week: &Week, face: Clockface) -> Vec<Working> {
    let working = week.running.iter().map(|(entry, project)| Working {
        session: entry.session_id.clone(),
        username: entry.user.username.clone(),
        what: format!("{}, {project}", entry.category),
        until: face.time(&entry.expected_end_at),
    });
    working.collect()
}
