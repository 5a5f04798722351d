use actix_web::http::header::{CACHE_CONTROL, HOST, LOCATION, REFERRER_POLICY};
use actix_web::http::{Method, StatusCode};
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse};
use messages::t;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::{Query, UnreadBody, endpoint};
use url::Url;
use web_kit::ReturnTo;
use web_kit::cookies::set_cookie;
use web_kit::form;
use web_kit::text::with_query;

use super::authorization_state::AuthorizationState;
use super::{BROWSER, BrowserSignIn, ClientContext, LIFE, NAME, TokenClient, TokenError};
use crate::app_state::Dashboard;
use crate::form::go_up;
use crate::paths::{CALLBACK, HOME, SIGN_IN};
use crate::visitor::Visitor;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(SIGN_IN).get(begin))
        .service(endpoint(CALLBACK).get(finish))
        .service(endpoint("/sign-out").get(go_up).post(sign_out));
}

#[derive(Deserialize)]
struct BeginQuery {
    return_to: Option<String>,
    /// Whether the browser was already sent to the public address.
    here: Option<String>,
}

async fn begin(
    visitor: Visitor,
    query: Query<BeginQuery>,
    req: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let dashboard = &visitor.dashboard;
    let oauth = oauth(dashboard)?;
    let return_to = ReturnTo::parse(query.0.return_to.as_deref(), HOME);
    if query.0.here.is_none() && !is_at(&dashboard.settings.base_url, &req) {
        let pairs = [("return_to", return_to.as_str()), ("here", "1")];
        let path = with_query(SIGN_IN, &pairs);
        return Ok(redirect(&format!("{}{path}", dashboard.settings.base_url)));
    }
    check_cookies(&visitor)?;
    let browser = visitor.browser.clone();
    let state = AuthorizationState::begin(browser.clone(), return_to, dashboard.clock.now());
    let sealed = state
        .seal(&dashboard.sealers.sign_ins)
        .map_err(Problem::internal)?;
    let mut answer = redirect(oauth.authorize(&sealed, &state.verifier).as_str());
    let cookie = dashboard.cookies.lasting(BROWSER, browser, LIFE);
    set_cookie(&mut answer, &cookie);
    Ok(answer)
}

/// The parameters of the authorization response (RFC 6749 section 4.1.2).
#[derive(Deserialize)]
struct CallbackQuery {
    #[serde(default)]
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error_description: Option<String>,
}

/// Handles the browser's return with an authorization code.
async fn finish(
    visitor: Visitor,
    query: Query<CallbackQuery>,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    let dashboard = &visitor.dashboard;
    let oauth = oauth(dashboard)?;
    let query = query.0;
    let (sealer, now) = (&dashboard.sealers.sign_ins, dashboard.clock.now());
    let state = AuthorizationState::open(sealer, &query.state, Some(&visitor.browser), now);
    let state = state.ok_or_else(|| invalid_state(&visitor))?;
    check_issuer(oauth, query.iss.as_deref())?;
    let code = query.code.ok_or_else(|| denied(query.error_description))?;
    if req.method() == Method::HEAD {
        // The code works only once, and the GET that follows needs it.
        return Ok(redirect(state.return_to.as_str()));
    }
    let tokens = oauth.redeem(&code, &state.verifier, &visitor.origin);
    let tokens = tokens.await.map_err(token_problem)?;
    let sign_in = BrowserSignIn::new(tokens, dashboard.clock.now());
    if let Some(before) = &visitor.sign_in {
        // Its cookie is replaced, so nobody could end it any more, except in the list of sign-ins.
        revoke(oauth, before, &visitor.origin).await;
    }
    let mut answer = redirect(state.return_to.as_str());
    sign_in.add_cookie(&dashboard.cookies, &dashboard.sealers.sign_ins, &mut answer)?;
    Ok(answer)
}

/// Ends the sign-in here and at the identity service. This needs no valid access token.
async fn sign_out(
    visitor: Visitor,
    req: HttpRequest,
    body: UnreadBody,
) -> actix_web::Result<HttpResponse> {
    let dashboard = &visitor.dashboard;
    form::check_site(req.headers())?;
    let body = form::read(body).await?;
    let has_ended = match (&visitor.sign_in, &dashboard.oauth) {
        (Some(sign_in), Some(oauth)) => {
            visitor.open_token(form::token_in(&body).as_deref())?;
            revoke(oauth, sign_in, &visitor.origin).await
        }
        (sign_in, _) => sign_in.is_none(),
    };
    let done = match has_ended {
        true => "/?done=signed-out",
        false => "/?done=signed-out-here",
    };
    let mut answer = HttpResponse::SeeOther()
        .insert_header((LOCATION, done))
        .finish();
    // The cookie is deleted in any case.
    set_cookie(&mut answer, &dashboard.cookies.expired(NAME));
    Ok(answer)
}

/// Revokes a sign-in at the identity service, and returns whether that succeeded.
async fn revoke(oauth: &TokenClient, sign_in: &BrowserSignIn, origin: &ClientContext) -> bool {
    let revoked = oauth.revoke(&sign_in.refresh_token, origin).await;
    if let Err(cause) = &revoked {
        log::warn!("a sign-in was not revoked: {cause}");
    }
    revoked.is_ok()
}

fn oauth(dashboard: &Dashboard) -> Result<&TokenClient, Problem> {
    dashboard.oauth.as_ref().ok_or_else(Problem::not_found)
}

/// Rejects a sign-in where the cookie could be read in transit.
fn check_cookies(visitor: &Visitor) -> Result<(), Problem> {
    match visitor.dashboard.cookies.allow(&visitor.request) {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            t("dashboard-https-required").to_string(),
        )),
    }
}

/// Whether the browser is at the public address: cookies that are set elsewhere would be missing afterwards.
fn is_at(base_url: &str, req: &HttpRequest) -> bool {
    let host = req.headers().get(HOST).and_then(|host| host.to_str().ok());
    let public = Url::parse(base_url);
    let public = public
        .as_ref()
        .map(|url| url.host_str().unwrap_or_default());
    let named = host.map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    });
    public.ok() == named
}

/// Checks the issuer of a response (RFC 9207): a code of another issuer is rejected.
fn check_issuer(oauth: &TokenClient, iss: Option<&str>) -> Result<(), Problem> {
    match iss.map(|iss| iss.trim_end_matches('/')) == Some(oauth.issuer.as_str()) {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_issuer",
            t("dashboard-wrong-issuer")
                .with("issuer", &oauth.issuer)
                .to_string(),
        )),
    }
}

fn invalid_state(visitor: &Visitor) -> Problem {
    let message: String = match visitor.sign_in {
        Some(_) => t("dashboard-already-signed-in").into(),
        None => t("dashboard-other-browser").into(),
    };
    Problem::new(StatusCode::BAD_REQUEST, "invalid_state", message)
}

fn denied(description: Option<String>) -> Problem {
    let message = description.unwrap_or_else(|| t("dashboard-sign-in-denied").into());
    Problem::new(StatusCode::FORBIDDEN, "access_denied", message)
}

fn token_problem(error: TokenError) -> Problem {
    match error {
        TokenError::Ended => Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_grant",
            t("dashboard-sign-in-expired").to_string(),
        ),
        TokenError::UnknownClient => {
            Problem::unavailable(t("dashboard-unknown-client").to_string(), 60)
        }
        TokenError::Unavailable(cause) => {
            Problem::unavailable(t("dashboard-identity-unavailable").to_string(), 2)
                .caused_by(cause)
        }
    }
}

/// Redirects the browser (302), without leaking the code in the address (RFC 9700 section 4.2.4).
fn redirect(address: &str) -> HttpResponse {
    HttpResponse::Found()
        .insert_header((LOCATION, address))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .finish()
}
