//! The page right after a session, with what it earned.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::{Text, t};
use serde::Deserialize;
use service_kit::http::{Path, Query};

use super::session_page::SessionBody;
use crate::api::{Session, SessionId, UserData};
use crate::page_frame::PageFrame;
use crate::text;
use crate::visitor::SignedInVisitor;

/// After this many sessions of a day, it is time for the long break.
const LONG_BREAK_EVERY: i64 = 4;

#[derive(Deserialize)]
pub(super) struct FinishedQuery {
    /// The badges that the session earned, separated by commas. Only those that the user has are shown.
    #[serde(default)]
    badges: String,
}

#[derive(Template)]
#[template(path = "sessions/finished.html")]
struct FinishedPage<'a> {
    frame: PageFrame,
    session: &'a Session,
    data: &'a UserData,
    points: String,
    badges: Vec<(Text, Text)>,
    takes_long: bool,
    is_flagged: bool,
}

pub(super) async fn page(
    user: SignedInVisitor,
    Path((id,)): Path<(SessionId,)>,
    query: Query<FinishedQuery>,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (user.call(), format!("/api/sessions/{id}"));
    let (data, SessionBody { session }, today) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<SessionBody>(&path),
        call.get::<crate::api::Tracking>("/api/analytics/tracking?group=day"),
    ))?;
    let earned = query.0.badges.split(',');
    let badges = earned.filter_map(|name| data.badges.iter().find(|badge| *badge == name));
    let sessions = today.buckets.last().map_or(0, |day| day.worked.sessions);
    let page = FinishedPage {
        frame: user.frame(t("sessions-saved"), &data),
        points: text::points(session.points_awarded),
        badges: badges.map(|badge| text::badge(badge)).collect(),
        takes_long: sessions > 0 && sessions % LONG_BREAK_EVERY == 0,
        is_flagged: session.flags.iter().any(|flag| flag.severity == "suspect"),
        session: &session,
        data: &data,
    };
    Ok(user.show(StatusCode::OK, &page))
}
