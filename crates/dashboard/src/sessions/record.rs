//! The page of a session: its plan, and what the user wrote about it, which can be corrected.

use actix_web::HttpResponse;
use askama::Template;
use chrono::{DateTime, Utc};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use service_kit::http::{Path, Query};

use super::account::{Account, FIELDS};
use crate::api::{Session, SessionId};
use crate::form::Form;
use crate::frame::PageFrame;
use crate::notices::{DoneQuery, FormMessages};
use crate::text::{self, TimeFormatter};
use crate::visitor::Member;

/// The response of `GET /api/sessions/{id}`.
#[derive(Deserialize)]
pub(super) struct One {
    pub(super) session: Session,
}

#[derive(Template)]
#[template(path = "sessions/record.html")]
struct RecordPage<'a> {
    frame: PageFrame,
    session: &'a Session,
    face: TimeFormatter,
    ended: Option<DateTime<Utc>>,
    account: Account,
}

/// Shows a session.
pub(super) async fn page(
    member: Member,
    Path((id,)): Path<(SessionId,)>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let notices = done.0.notices();
    show(&member, &id, notices, None).await
}

/// Saves the fields of a session that can be changed.
pub(super) async fn save(
    form: Form<Account>,
    Path((id,)): Path<(SessionId,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    let body = match fields.body() {
        Ok(body) => body,
        Err(notices) => return show(&member, &id, notices, Some(fields)).await,
    };
    let path = format!("/api/sessions/{id}");
    match member.submit::<Value>(Method::PATCH, &path, body).await? {
        Ok(_) => Ok(member.see_other(&format!("/sessions/{id}?done=saved"))),
        Err(refused) => show(&member, &id, refused.notices(&FIELDS), Some(fields)).await,
    }
}

/// Shows a session with the user's input, or else with what is stored.
pub(super) async fn show(
    member: &Member,
    id: &SessionId,
    notices: FormMessages,
    typed: Option<Account>,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (member.call(), format!("/api/sessions/{id}"));
    let (data, One { session }) =
        member.on(tokio::try_join!(call.user_data(), call.get::<One>(&path)))?;
    let page = RecordPage {
        frame: member.frame("Session", &data).with(notices),
        face: TimeFormatter::of(&data.timezone),
        ended: session.end_time.or(session.ended_at),
        account: typed.unwrap_or_else(|| Account {
            note: session.note.clone(),
            quality_rating: session
                .quality_rating
                .map_or_else(String::new, |it| it.to_string()),
            tags: session.tags.join(", "),
        }),
        session: &session,
    };
    Ok(member.show(page.frame.status(), &page))
}
