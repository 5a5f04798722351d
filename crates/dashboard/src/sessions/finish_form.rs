//! The form after a session: it shows the plan, and takes what the user writes about the work.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use chrono::TimeDelta;
use messages::t;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::http::Path;
use web_kit::text::with_query;

use super::review::{FIELDS, SessionReview};
use super::session_page::{self, SessionBody};
use crate::api::{ApiError, ApiRejection, PlannedSession, PreSession, SessionId, Submitted};
use crate::form::Form;
use crate::form_messages::FormMessages;
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

/// How early a session may end to count as all that was planned.
const NEARLY: TimeDelta = TimeDelta::seconds(5);

#[derive(Template)]
#[template(path = "sessions/finish.html")]
struct FinishPage {
    frame: PageFrame,
    id: String,
    plan: PreSession,
    /// When the work began and ended: for people in local time, and for the service.
    from: String,
    to: String,
    end_time: String,
    /// The minutes worked, if fewer than planned.
    worked: Option<i64>,
    is_given_up: bool,
    review: SessionReview,
}

/// The content of the form: the locked fields as the page had them, and what the user wrote.
#[derive(Deserialize)]
pub(super) struct FinishForm {
    category: String,
    duration: String,
    project_id: String,
    end_time: String,
    #[serde(flatten)]
    review: SessionReview,
}

pub(super) async fn page(
    user: SignedInVisitor,
    Path((id,)): Path<(SessionId,)>,
) -> actix_web::Result<HttpResponse> {
    show(
        &user,
        &id,
        FormMessages::default(),
        SessionReview::default(),
        None,
    )
    .await
}

pub(super) async fn submit(
    form: Form<FinishForm>,
    Path((id,)): Path<(SessionId,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let (review, end_time) = (fields.review.clone(), fields.end_time.clone());
    let body = match fields.review.body() {
        Ok(review) => review,
        Err(messages) => return show(&user, &id, messages, review, Some(end_time)).await,
    };
    match user.split_rejection(send(&user, &id, fields, body).await)? {
        Ok(submitted) => {
            let badges = submitted.new_badges.join(",");
            let path = format!("/sessions/{id}/finished");
            Ok(user.see_other(&with_query(&path, &[("badges", &badges)])))
        }
        Err(refused) => show(&user, &id, messages_for(&refused), review, Some(end_time)).await,
    }
}

/// Submits a session. The locked fields are sent along, so that the service can see that nobody changed them.
async fn send(
    user: &SignedInVisitor,
    id: &SessionId,
    fields: FinishForm,
    mut body: Value,
) -> Result<Submitted, ApiError> {
    let call = user.call();
    let planned: PlannedSession = call.get(&format!("/api/get_presession/{id}")).await?;
    // An invalid number differs from every plan.
    let duration = fields.duration.parse::<i64>().unwrap_or_default();
    let locked = json!({
        "session_id": planned.session_id,
        "category": fields.category,
        "project_id": fields.project_id,
        "duration": duration,
        "start_time": text::exact(&planned.started_at),
        "end_time": fields.end_time,
    });
    if let (Some(body), Value::Object(locked)) = (body.as_object_mut(), locked) {
        body.extend(locked);
    }
    call.send(Method::POST, "/api/pomodoro/submit", body).await
}

async fn show(
    user: &SignedInVisitor,
    id: &SessionId,
    messages: FormMessages,
    review: SessionReview,
    end_time: Option<String>,
) -> actix_web::Result<HttpResponse> {
    let call = user.call();
    let (plan, state) = (
        format!("/api/get_presession/{id}"),
        format!("/api/sessions/{id}"),
    );
    let (data, planned, SessionBody { session }) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<PlannedSession>(&plan),
        call.get::<SessionBody>(&state),
    ))?;
    if session.submitted_at.is_some() {
        return match review.is_empty() {
            true => Ok(user.see_other(&format!("/sessions/{id}"))),
            // Another tab was faster. The input in this one may be the better text.
            false => session_page::show(user, id, messages, Some(review)).await,
        };
    }
    let zone = TimeFormatter::new(&data.timezone);
    // The work ends when the user presses "finish", or at the next start. The time spent on this form does not count.
    let now = user.visitor.dashboard.clock.now();
    let given = end_time.and_then(|text| text.parse().ok());
    let last = planned.expected_end_at;
    let last = session.ended_at.map_or(last, |ended| ended.min(last));
    let ended = given.unwrap_or(now).min(last);
    let is_whole = ended + NEARLY >= planned.expected_end_at;
    let worked = (ended - planned.started_at).num_minutes().max(0);
    let page = FinishPage {
        frame: user.frame(t("sessions-finish"), &data).with(messages),
        id: id.to_string(),
        from: zone.time(&planned.started_at),
        to: zone.time(&ended),
        end_time: text::exact(&ended),
        worked: (!is_whole).then_some(worked),
        is_given_up: planned.status == "abandoned",
        plan: planned.presession,
        review,
    };
    Ok(user.show(page.frame.status(), &page))
}

fn messages_for(refused: &ApiRejection) -> FormMessages {
    let message = match refused.status {
        StatusCode::CONFLICT => t("sessions-already-finished"),
        StatusCode::UNPROCESSABLE_ENTITY => {
            t("sessions-plan-differs").with("message", &refused.message)
        }
        _ => return refused.messages(&FIELDS),
    };
    FormMessages::for_error(None, refused.status, message)
}
