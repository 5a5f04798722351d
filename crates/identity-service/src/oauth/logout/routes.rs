use std::borrow::Cow;

use actix_web::http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use auth_types::UserId;
use auth_types::wire::IdentityError;
use messages::t;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::{UnreadBody, endpoint};
use url::Url;
use web_kit::cookies::set_cookie;
use web_kit::html::FORMS_LEAD_ELSEWHERE;

use super::request::{self, LogoutRequest};
use crate::app::App;
use crate::error::Error;
use crate::oauth::authorize::Parameters;
use crate::oauth::wire::LogoutForm;
use crate::pages::form::Form;
use crate::pages::page_frame::{HOME, PageFrame};
use crate::pages::visitor::Visitor;
use crate::request_context::RequestContext;
use crate::sessions::revocation;

/// The path of the `end_session_endpoint`.
pub(crate) const PATH: &str = "/api/oauth/logout";
/// Where the browser shows that the user is signed out.
const DONE: &str = "/done/signed-out";

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(PATH).get(log_out).post(post_log_out))
        .service(endpoint("/logout/confirm").post(answer));
}

/// Signs the user out (OpenID Connect RP-Initiated Logout). A client sends the user's browser here. The user is asked,
/// unless `id_token_hint` was issued to the client for the sign-in of this browser, or there is nothing to end. Afterwards,
/// the browser goes to `post_logout_redirect_uri`, or to a page that says that the user is signed out.
#[utoipa::path(
    get, path = "/api/oauth/logout", operation_id = "requestLogout", tag = "oauth",
    params(
        ("id_token_hint" = Option<String>, Query, description = "An ID token that the client received; it may have expired"),
        ("client_id" = Option<String>, Query, description = "Must be the audience of `id_token_hint`, if both are given"),
        ("post_logout_redirect_uri" = Option<String>, Query, description = "Must equal a registered URI; on loopback any port is allowed. Requires `id_token_hint` or `client_id`"),
        ("state" = Option<String>, Query, description = "Returned unchanged"),
    ),
    responses(
        (status = 200, description = "The page that asks the user", body = String, content_type = "text/html"),
        (status = 303, description = "The user is signed out: redirects to `post_logout_redirect_uri` with `state`, or to a page that says so"),
        (status = 400, description = "`invalid_request`: a parameter is not valid. Nobody is signed out, and nothing is redirected", body = IdentityError),
    )
)]
async fn log_out(
    app: Data<App>,
    context: RequestContext,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let parameters = request::parse(req.query_string());
    let request = read_valid(&app, &parameters).await?;
    let visitor = Visitor::load(&req).await?;
    // Programs that only look, such as link previews, send HEAD.
    if let Some(user) = &visitor.user
        && req.method() != Method::HEAD
        && request.has_hint_of_sign_in(&app, user).await?
    {
        return Ok(sign_out(&visitor, user.account.id, &request, &context).await?);
    }
    Ok(ask(&visitor, &request, &parameters).await?)
}

/// The same with a form. The browser repeats the request as GET, because it sends no cookie with a form of another site.
#[utoipa::path(
    post, path = "/api/oauth/logout", operation_id = "requestLogoutByPost", tag = "oauth",
    request_body(content = LogoutForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 303, description = "Redirects to the same path, with the fields as query parameters"),
        (status = 400, description = "`invalid_request`: not a form, or longer than 12 KiB", body = IdentityError),
    )
)]
async fn post_log_out(body: UnreadBody) -> Result<HttpResponse, Problem> {
    let body = web_kit::form::read(body).await?;
    let parameters = request::parse(&String::from_utf8_lossy(&body));
    request::check_length(&parameters).map_err(bad_request)?;
    let query = parameters.query();
    Ok(redirect_to(&format!("{PATH}?{query}")))
}

/// The form of the page that asks. It contains the whole request, which is validated anew.
#[derive(Deserialize)]
struct ConfirmForm {
    request: String,
    decision: Decision,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    SignOut,
    Stay,
}

async fn answer(
    form: Form<ConfirmForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let is_own = form.is_own();
    let (visitor, fields) = form.by_anybody();
    let parameters = request::parse(&fields.request);
    let request = read_valid(&visitor.app, &parameters).await?;
    if matches!(fields.decision, Decision::Stay) {
        return Ok(visitor.see_other(HOME));
    }
    let user_id = match &visitor.user {
        Some(user) => Some(user.account.id),
        None => request.user_of_hint(&visitor.app).await?,
    };
    Ok(match user_id {
        Some(user_id) if is_own => sign_out(&visitor, user_id, &request, &context).await?,
        // Somebody else has signed in since, or there is nothing left to end.
        _ => ask(&visitor, &request, &parameters).await?,
    })
}

async fn read_valid(app: &App, parameters: &Parameters) -> actix_web::Result<LogoutRequest> {
    let read = request::read(app, parameters).await?;
    read.map_err(|why| bad_request(why).into())
}

fn bad_request(why: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", why.into())
}

#[derive(Template)]
#[template(path = "logout.html")]
struct LogoutPage<'a> {
    frame: PageFrame,
    client: Option<&'a str>,
    /// `None` if only the client's session ends, because the browser has no sign-in.
    username: Option<&'a str>,
    request: String,
}

/// Asks the user, if there is anything to end. A hint alone ends nothing: it may have leaked, or belong to another browser.
async fn ask(
    visitor: &Visitor,
    request: &LogoutRequest,
    parameters: &Parameters,
) -> Result<HttpResponse, Error> {
    let user = visitor.user.as_ref();
    if user.is_none() && request.user_of_hint(&visitor.app).await?.is_none() {
        return Ok(redirect_after(visitor, request.redirect.as_ref()));
    }
    let page = LogoutPage {
        frame: visitor.frame(t("oauth-logout-title")),
        client: request.client.as_ref().map(|client| client.name.as_str()),
        username: user.map(|user| user.account.username.as_str()),
        request: parameters.query(),
    };
    Ok(visitor.show_under(&FORMS_LEAD_ELSEWHERE, StatusCode::OK, &page))
}

/// Ends the sign-in of the browser, if there is one, and the session of the hint, if both belong to this user.
async fn sign_out(
    visitor: &Visitor,
    user_id: UserId,
    request: &LogoutRequest,
    context: &RequestContext,
) -> Result<HttpResponse, Error> {
    let (user, of_client) = (visitor.user.as_ref(), request.client_session(user_id));
    let sign_in = user.map(|user| user.token.session_id.clone());
    // Without a sign-in, nothing says who confirmed it.
    let context = match user {
        Some(_) => context.clone().with_actor(user_id),
        None => context.clone(),
    };
    revocation::sign_out_for_client(&visitor.app, user_id, sign_in, of_client, &context).await?;
    let mut answer = redirect_after(visitor, request.redirect.as_ref());
    set_cookie(&mut answer, &visitor.app.cookies.sign_out());
    Ok(answer)
}

fn redirect_after(visitor: &Visitor, redirect: Option<&Url>) -> HttpResponse {
    match redirect {
        Some(url) => redirect_to(url.as_str()),
        None => visitor.see_other(DONE),
    }
}

/// Builds a redirect without caching or `Referer`, so that the hint stays between client and server. After a form, only 303
/// surely becomes a GET (RFC 9110 section 15.4.4).
fn redirect_to(address: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, address))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .finish()
}
