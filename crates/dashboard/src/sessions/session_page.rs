//! The page of a session: its plan, and what the user wrote about it, which can be corrected.

use actix_web::HttpResponse;
use askama::Template;
use chrono::{DateTime, Utc};
use messages::t;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use service_kit::http::{Path, Query};

use super::review::{FIELDS, SessionReview};
use crate::api::{Session, SessionId};
use crate::form::Form;
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

/// The response of `GET /api/sessions/{id}`.
#[derive(Deserialize)]
pub(super) struct SessionBody {
    pub(super) session: Session,
}

#[derive(Template)]
#[template(path = "sessions/session_page.html")]
struct RecordPage<'a> {
    frame: PageFrame,
    session: &'a Session,
    zone: TimeFormatter,
    ended: Option<DateTime<Utc>>,
    review: SessionReview,
}

pub(super) async fn page(
    user: SignedInVisitor,
    Path((id,)): Path<(SessionId,)>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = done.0.messages();
    show(&user, &id, messages, None).await
}

pub(super) async fn save(
    form: Form<SessionReview>,
    Path((id,)): Path<(SessionId,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let body = match fields.body() {
        Ok(body) => body,
        Err(messages) => return show(&user, &id, messages, Some(fields)).await,
    };
    let path = format!("/api/sessions/{id}");
    match user.submit::<Value>(Method::PATCH, &path, body).await? {
        Ok(_) => Ok(user.see_other(&format!("/sessions/{id}?done=saved"))),
        Err(refused) => show(&user, &id, refused.messages(&FIELDS), Some(fields)).await,
    }
}

/// Shows a session with the user's input, or else with what is stored.
pub(super) async fn show(
    user: &SignedInVisitor,
    id: &SessionId,
    messages: FormMessages,
    input: Option<SessionReview>,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (user.call(), format!("/api/sessions/{id}"));
    let (data, SessionBody { session }) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<SessionBody>(&path)
    ))?;
    let page = RecordPage {
        frame: user.frame(t("sessions-session"), &data).with(messages),
        zone: TimeFormatter::new(&data.timezone),
        ended: session.end_time.or(session.ended_at),
        review: input.unwrap_or_else(|| SessionReview {
            note: session.note.clone(),
            quality_rating: session
                .quality_rating
                .map_or_else(String::new, |it| it.to_string()),
            tags: session.tags.join(", "),
        }),
        session: &session,
    };
    Ok(user.show(page.frame.status(), &page))
}
