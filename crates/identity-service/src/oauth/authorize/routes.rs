use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL, LOCATION, REFERRER_POLICY};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use auth_types::wire::IdentityError;
use messages::t;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::{UnreadBody, endpoint};
use url::form_urlencoded::Serializer;
use web_kit::form;
use web_kit::html::FORMS_LEAD_ELSEWHERE;

use super::decision::{Decision, RequestSource};
use super::form_post::form_post;
use super::parameters::Parameters;
use super::request;
use super::response::{AuthorizationResponse, ResponseMode};
use super::service::{self, AuthorizeOutcome, ValidRequest};
use crate::app::App;
use crate::auth;
use crate::error::Error;
use crate::oauth::clients::ClientMetadata;
use crate::oauth::consents;
use crate::oauth::scopes::{self, ScopeDescription};
use crate::oauth::wire::AuthorizationForm;
use crate::pages::form::Form;
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::Visitor;
use crate::pages::wants_page;
use crate::request_context::RequestContext;

const PATH: &str = "/api/oauth/authorize";

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(PATH).get(authorize).post(authorize_by_form))
        .service(endpoint("/consent").post(answer));
}

/// Authorizes a client, which sends the user's browser here. The browser returns with a code or, once client and redirect
/// URI are known to be valid, with an error. A user signed in by cookie is asked for consent, unless they gave it before or
/// the client is first-party. A public client at a loopback address or private-use scheme always needs consent. A bearer
/// token of the user's own sign-in counts as consent.
#[utoipa::path(
    get, path = "/api/oauth/authorize", tag = "oauth", security((), ("bearer" = [])),
    params(
        ("client_id" = String, Query),
        ("response_type" = String, Query, description = "`code`, or `id_token` for a client that is registered for it"),
        ("response_mode" = Option<String>, Query, description = "`query` (the default), or `form_post`, which `id_token` requires"),
        ("redirect_uri" = String, Query, description = "Must equal a registered URI; on loopback any port is allowed"),
        ("scope" = Option<String>, Query, description = "Scopes separated by spaces; if absent, all scopes that the client is registered for"),
        ("state" = Option<String>, Query, description = "Returned unchanged"),
        ("code_challenge" = Option<String>, Query, description = "The PKCE challenge (RFC 7636); public clients must send it to get a code"),
        ("code_challenge_method" = Option<String>, Query, description = "`S256` or `plain`; if absent, `plain`"),
        ("nonce" = Option<String>, Query, description = "Returned in the ID token; `response_type=id_token` requires it"),
        ("prompt" = Option<String>, Query, description = "`none`, or one or more of `login`, `select_account`, `create` and `consent`, separated by spaces"),
        ("max_age" = Option<u32>, Query, description = "The maximum age of the sign-in, in seconds"),
        ("login_hint" = Option<String>, Query, description = "The username to fill in on the sign-in page"),
        ("id_token_hint" = Option<String>, Query, description = "An ID token of the user who must be signed in; it may have expired"),
    ),
    responses(
        (status = 200, description = "The consent page, or the page for choosing an account; with `form_post`, a page that posts the response to `redirect_uri`", body = String, content_type = "text/html"),
        (status = 302, description = "Redirects to `redirect_uri` with `code`, `state` and `iss`, or with `error`, `error_description`, `state` and `iss`; or to the sign-in or registration page"),
        (status = 400, description = "`invalid_request`: the client is unknown, or the redirect URI is not registered for it", body = IdentityError),
        (status = 401, description = "`authentication_required` if `Accept` contains application/json and not text/html; `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 403, description = "`insufficient_scope`: the token does not belong to the user's own sign-in", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn authorize(
    app: Data<App>,
    context: RequestContext,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let parameters = Parameters::parse(req.query_string());
    let visitor = Visitor::load(&req).await?;
    let looks_only = req.method() == Method::HEAD;
    let (user, source) = if req.headers().contains_key(AUTHORIZATION) {
        (Some(auth::current_user(&req).await?), RequestSource::Bearer)
    } else {
        (visitor.user.clone(), RequestSource::Browser)
    };
    let user = user.as_ref();
    let outcome = service::authorize(&app, parameters, user, source, looks_only, &context);
    match outcome.await? {
        AuthorizeOutcome::SignIn(_) | AuthorizeOutcome::Register(_) if !wants_page(&req) => {
            Err(Error::AuthenticationRequired.into())
        }
        outcome => show(&visitor, outcome, StatusCode::FOUND).await,
    }
}

/// As GET, with the parameters in a form (OpenID Connect Core section 3.1.2.1). The browser is redirected to the same request
/// as GET: with the form of another site it has sent no cookie, and only a GET can be opened again after a sign-in.
#[utoipa::path(
    post, path = "/api/oauth/authorize", operation_id = "authorizeByPost", tag = "oauth", security(()),
    request_body(content = AuthorizationForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 303, description = "Redirects to this endpoint, with the parameters in the query"),
        (status = 400, description = "`invalid_request`: there is not exactly one `client_id`, the request is too long, or it is no form", body = IdentityError),
    )
)]
async fn authorize_by_form(body: UnreadBody) -> actix_web::Result<HttpResponse> {
    let parameters = Parameters::parse(form::read(body).await?);
    request::client_id(&parameters).map_err(bad)?;
    Ok(sent(StatusCode::SEE_OTHER, &again(&parameters)))
}

/// Shows the outcome of a request. A redirect has this status.
async fn show(
    visitor: &Visitor,
    outcome: AuthorizeOutcome,
    status: StatusCode,
) -> actix_web::Result<HttpResponse> {
    Ok(match outcome {
        AuthorizeOutcome::Reply(response) => reply(&response, status),
        AuthorizeOutcome::Ask(asked) => ask(visitor, &asked).await?,
        AuthorizeOutcome::SelectAccount(asked) => select_account(visitor, &asked),
        AuthorizeOutcome::SignIn(parameters) => sent(status, &sign_in(visitor, &parameters)),
        AuthorizeOutcome::Register(parameters) => sent(
            status,
            &visitor.entry_path("/register", &again(&parameters)),
        ),
        AuthorizeOutcome::Bad(why) => return Err(bad(why).into()),
    })
}

fn reply(response: &AuthorizationResponse, status: StatusCode) -> HttpResponse {
    match response.mode {
        ResponseMode::Query => sent(status, response.url().as_str()),
        ResponseMode::FormPost => form_post(response),
    }
}

/// The form of the consent page, and of the page for choosing an account. It contains the whole request, which is validated
/// anew.
#[derive(Deserialize)]
pub(super) struct ConsentForm {
    request: String,
    decision: PageDecision,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PageDecision {
    Allow,
    Deny,
    /// Continue with the account that the page shows.
    Continue,
}

async fn answer(
    form: Form<ConsentForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let is_own = form.is_own();
    let (visitor, fields) = form.by_anybody();
    let parameters = Parameters::parse(&fields.request);
    let (parameters, source) = match fields.decision {
        PageDecision::Allow if is_own => (parameters, RequestSource::Answered(Decision::Allow)),
        PageDecision::Deny if is_own => (parameters, RequestSource::Answered(Decision::Deny)),
        PageDecision::Continue if is_own => {
            (parameters.with_selected_account(), RequestSource::Browser)
        }
        // The decision was made with another account. The user who has signed in since is asked.
        PageDecision::Continue => (parameters, RequestSource::Browser),
        PageDecision::Allow | PageDecision::Deny => (parameters.asking(), RequestSource::Browser),
    };
    let user = visitor.user.as_ref();
    let outcome = service::authorize(&visitor.app, parameters, user, source, false, &context);
    show(&visitor, outcome.await?, StatusCode::SEE_OTHER).await
}

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage<'a> {
    frame: PageFrame,
    client: &'a str,
    username: &'a str,
    /// The host to which the browser returns, or the scheme if there is no host.
    host: &'a str,
    lines: Vec<ScopeDescription>,
    metadata: &'a ClientMetadata,
    request: String,
}

async fn ask(
    visitor: &Visitor,
    (valid, parameters): &(ValidRequest, Parameters),
) -> Result<HttpResponse, Error> {
    let url = &valid.redirect.redirect_uri;
    let user = visitor.user.as_ref();
    let before = match user {
        Some(user) => {
            let (id, client) = (user.account.id, &valid.client.id);
            consents::service::find_allowed(&visitor.app, id, client).await?
        }
        None => None,
    };
    let page = ConsentPage {
        frame: visitor.frame(t("oauth-allow")),
        client: &valid.client.name,
        username: user.map_or("", |user| &user.account.username),
        host: url.host_str().unwrap_or(url.scheme()),
        lines: scopes::lines(valid.request.scope, before.unwrap_or_default()),
        metadata: &valid.client.metadata,
        request: parameters.query(),
    };
    let policy = match valid.client.metadata.logo_source() {
        Some(logo) => FORMS_LEAD_ELSEWHERE.allowing("img-src", &logo),
        None => FORMS_LEAD_ELSEWHERE,
    };
    Ok(visitor.show_under(&policy, StatusCode::OK, &page))
}

#[derive(Template)]
#[template(path = "select_account.html")]
struct SelectAccountPage<'a> {
    frame: PageFrame,
    client: &'a str,
    username: &'a str,
    request: String,
    /// Where the user signs in with another account.
    other: String,
}

fn select_account(
    visitor: &Visitor,
    (valid, parameters): &(ValidRequest, Parameters),
) -> HttpResponse {
    let now = visitor.app.clock.now();
    let user = visitor.user.as_ref();
    let page = SelectAccountPage {
        frame: visitor.frame(t("oauth-select-account")),
        client: &valid.client.name,
        username: user.map_or("", |user| &user.account.username),
        request: parameters.query(),
        other: sign_in(visitor, &parameters.after_sign_in(true, now)),
    };
    visitor.show_under(&FORMS_LEAD_ELSEWHERE, StatusCode::OK, &page)
}

/// Returns the address of a request.
fn again(parameters: &Parameters) -> String {
    format!("{PATH}?{}", parameters.query())
}

/// Returns the address of the sign-in page, which leads back here. A signed-in user has to sign in again.
fn sign_in(visitor: &Visitor, parameters: &Parameters) -> String {
    let mut query = Serializer::new(visitor.entry_path("/login", &again(parameters)));
    if let Some(name) = parameters.value("login_hint") {
        query.append_pair("login_hint", name);
    }
    query.finish()
}

/// Builds a redirect without caching or `Referer`, so that the code does not leak (RFC 9700 section 4.2.4).
fn sent(status: StatusCode, address: &str) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((LOCATION, address))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .finish()
}

fn bad(why: &'static str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", why)
}
