use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL, LOCATION, REFERRER_POLICY};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use auth_types::wire::IdentityError;
use messages::t;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::endpoint;
use url::form_urlencoded::Serializer;
use web_kit::html::FORMS_LEAD_ELSEWHERE;

use super::decision::{Decision, RequestSource};
use super::parameters::Parameters;
use super::service::{self, AuthorizeOutcome, ValidRequest};
use crate::app::App;
use crate::auth;
use crate::error::Error;
use crate::oauth::clients::ClientMetadata;
use crate::oauth::consents;
use crate::oauth::scopes::{self, ScopeDescription};
use crate::pages::form::Form;
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::{Visitor, sign_in_path};
use crate::pages::wants_page;
use crate::request_context::RequestContext;

const PATH: &str = "/api/oauth/authorize";

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(PATH).get(authorize))
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
        ("response_type" = String, Query, description = "`code`"),
        ("redirect_uri" = String, Query, description = "Must equal a registered URI; on loopback any port is allowed"),
        ("scope" = Option<String>, Query, description = "Scopes separated by spaces; if absent, all scopes that the client is registered for"),
        ("state" = Option<String>, Query, description = "Returned unchanged"),
        ("code_challenge" = Option<String>, Query, description = "The PKCE challenge (RFC 7636); required for public clients"),
        ("code_challenge_method" = Option<String>, Query, description = "`S256` or `plain`; if absent, `plain`"),
        ("nonce" = Option<String>, Query, description = "Returned in the ID token"),
        ("prompt" = Option<String>, Query, description = "`none`, or one or more of `login`, `select_account` and `consent`, separated by spaces"),
        ("max_age" = Option<u32>, Query, description = "The maximum age of the sign-in, in seconds"),
        ("login_hint" = Option<String>, Query, description = "The username to fill in on the sign-in page"),
    ),
    responses(
        (status = 200, description = "The consent page", body = String, content_type = "text/html"),
        (status = 302, description = "Redirects to `redirect_uri` with `code`, `state` and `iss`, or with `error`, `error_description`, `state` and `iss`; or to the sign-in page"),
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
        AuthorizeOutcome::Reply(url) => Ok(sent(StatusCode::FOUND, url.as_str())),
        AuthorizeOutcome::Ask(asked) => Ok(ask(&visitor, &asked).await?),
        AuthorizeOutcome::SignIn(_) if !wants_page(&req) => {
            Err(Error::AuthenticationRequired.into())
        }
        AuthorizeOutcome::SignIn(parameters) => {
            Ok(sent(StatusCode::FOUND, &sign_in(&visitor, &parameters)))
        }
        AuthorizeOutcome::Bad(why) => Err(bad(why).into()),
    }
}

/// The form of the consent page. It contains the whole request, which is validated anew.
#[derive(Deserialize)]
pub(super) struct ConsentForm {
    request: String,
    decision: Decision,
}

async fn answer(
    form: Form<ConsentForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let is_own = form.is_own();
    let (visitor, fields) = form.by_anybody();
    let parameters = Parameters::parse(&fields.request);
    let (parameters, source) = match is_own {
        true => (parameters, RequestSource::Answered(fields.decision)),
        // The decision was made with another account. The user who has signed in since is asked.
        false => (parameters.asking(), RequestSource::Browser),
    };
    let user = visitor.user.as_ref();
    let outcome = service::authorize(&visitor.app, parameters, user, source, false, &context);
    match outcome.await? {
        AuthorizeOutcome::Reply(url) => Ok(sent(StatusCode::SEE_OTHER, url.as_str())),
        AuthorizeOutcome::Ask(asked) => Ok(ask(&visitor, &asked).await?),
        AuthorizeOutcome::SignIn(parameters) => {
            Ok(visitor.see_other(&sign_in(&visitor, &parameters)))
        }
        AuthorizeOutcome::Bad(why) => Err(bad(why).into()),
    }
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
        Some(logo) => FORMS_LEAD_ELSEWHERE.replace("img-src", &format!("img-src {logo}")),
        None => FORMS_LEAD_ELSEWHERE.to_owned(),
    };
    Ok(visitor.show_under(&policy, StatusCode::OK, &page))
}

/// Returns the address of the sign-in page, which leads back here. A signed-in user has to sign in again.
fn sign_in(visitor: &Visitor, parameters: &Parameters) -> String {
    let path = sign_in_path(&format!("{PATH}?{}", parameters.query()));
    let mut query = Serializer::new(path);
    if visitor.user.is_some() {
        query.append_pair("again", "true");
    }
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
