//! Visitors of pages, signed in or not.

use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::http::header::{LOCATION, USER_AGENT};
use actix_web::http::{Method, StatusCode};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse};
use askama::Template;
use chrono::TimeDelta;
use messages::t;
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use service_kit::Problem;
use service_kit::crypto::random_token;
use service_kit::http::{ClientIp, RequestId};
use web_kit::cookies::set_cookie;
use web_kit::form::CsrfToken;
use web_kit::html::html;

use crate::api::{ApiClient, ApiError, ApiRejection, UserData};
use crate::app_state::Dashboard;
use crate::form::signed_out;
use crate::page_frame::PageFrame;
use crate::paths::{HOME, sign_in_path};
use crate::sign_in::{BROWSER, BrowserSignIn, ClientContext, LIFE, NAME, TokenError};

pub(crate) type Extraction<T> = Pin<Box<dyn Future<Output = Result<T, actix_web::Error>>>>;

/// A visitor whose token is rejected this soon after the sign-in would be sent to sign in for ever.
const JUST_NOW: TimeDelta = TimeDelta::seconds(10);

/// A visitor with a browser, signed in or not.
pub(crate) struct Visitor {
    pub(crate) dashboard: Data<Dashboard>,
    /// The sign-in in the browser's cookie; its access token may have expired.
    pub(crate) sign_in: Option<BrowserSignIn>,
    pub(crate) origin: ClientContext,
    pub(crate) request: HttpRequest,
    /// The id of this browser, to which the CSRF tokens of its forms are bound.
    pub(crate) browser: String,
    /// The page that the browser shows, to which it can be sent.
    pub(crate) page: String,
    request_id: RequestId,
    /// The path with its query.
    path: String,
}

/// A visitor who is signed in in this browser, with a valid access token. Others are sent to the sign-in page.
pub(crate) struct SignedInVisitor {
    pub(crate) visitor: Visitor,
    pub(crate) sign_in: BrowserSignIn,
}

/// The renewed sign-in that the browser must get, in the extensions of its request.
struct RenewedSignIn(BrowserSignIn);

/// The id of a new browser, in the extensions of its request.
struct NewBrowser(String);

/// Adds the cookies of a renewed sign-in and of a new browser to a response.
pub(crate) fn add_cookies(request: &HttpRequest, dashboard: &Dashboard, answer: &mut HttpResponse) {
    if let Some(NewBrowser(browser)) = request.extensions().get() {
        let cookie = dashboard.cookies.lasting(BROWSER, browser.clone(), LIFE);
        set_cookie(answer, &cookie);
    }
    if let Some(RenewedSignIn(sign_in)) = request.extensions().get()
        && let Err(problem) =
            sign_in.add_cookie(&dashboard.cookies, &dashboard.sealers.sign_ins, answer)
    {
        log::error!("{problem}");
    }
}

/// A visitor after the check of the sign-in.
pub(crate) enum SignInState {
    /// Signed in, with a valid access token.
    SignedIn(SignedInVisitor),
    /// Never signed in, or no longer.
    Nobody(Visitor),
}

impl FromRequest for Visitor {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        let visitor = Self::from_cookies(req);
        Box::pin(async move { Ok(visitor?) })
    }
}

impl Visitor {
    /// Reads the request's cookies. A sign-in that was not sealed here is ignored.
    pub(crate) fn from_cookies(req: &HttpRequest) -> Result<Self, Problem> {
        let dashboard = req.app_data::<Data<Dashboard>>();
        let dashboard = dashboard.ok_or_else(Problem::not_found)?.clone();
        let cookie = dashboard.cookies.read(req, NAME);
        let browser = dashboard.cookies.read(req, BROWSER).unwrap_or_else(|| {
            let browser = random_token().expose_secret().to_owned();
            req.extensions_mut().insert(NewBrowser(browser.clone()));
            browser
        });
        let user_agent = req.headers().get(USER_AGENT);
        let Ok(address) = ClientIp::extract(req).into_inner();
        let Ok(request_id) = RequestId::extract(req).into_inner();
        let path = req.uri().path_and_query();
        Ok(Self {
            sign_in: cookie
                .and_then(|value| BrowserSignIn::open(&dashboard.sealers.sign_ins, &value)),
            origin: ClientContext {
                user_agent: user_agent.and_then(|value| value.to_str().ok().map(str::to_owned)),
                address: Some(address.to_string()),
            },
            request_id,
            request: req.clone(),
            browser,
            page: req.path().to_owned(),
            // A link must not repeat what a form did.
            path: match *req.method() {
                Method::GET | Method::HEAD => path.map_or_else(String::new, ToString::to_string),
                _ => HOME.to_owned(),
            },
            dashboard,
        })
    }

    /// Opens the CSRF token of a form that this browser sent.
    ///
    /// # Errors
    /// 403 for a form that was not shown in this browser.
    pub(crate) fn open_token(&self, given: Option<&str>) -> Result<CsrfToken, Problem> {
        CsrfToken::open(&self.dashboard.sealers.forms, &self.browser, given)
    }

    /// Checks whether the visitor is signed in, and renews an expired access token.
    ///
    /// # Errors
    /// 503 when the identity service does not answer as it should.
    pub(crate) async fn check_sign_in(self) -> Result<SignInState, Problem> {
        let Some(sign_in) = self.sign_in.clone() else {
            return Ok(SignInState::Nobody(self));
        };
        let Dashboard {
            oauth,
            clock,
            renewals,
            ..
        } = &**self.dashboard;
        match renewals
            .renewed(oauth.as_ref(), clock, sign_in, &self.origin)
            .await
        {
            Ok((sign_in, is_renewed)) => {
                if is_renewed {
                    // For the response, whatever it is: the token that was replaced must not be used again.
                    let mut extensions = self.request.extensions_mut();
                    extensions.insert(RenewedSignIn(sign_in.clone()));
                }
                Ok(SignInState::SignedIn(SignedInVisitor {
                    visitor: self,
                    sign_in,
                }))
            }
            Err(TokenError::Ended) => Ok(SignInState::Nobody(self)),
            Err(cause) => {
                let problem = t("dashboard-identity-failing").to_string();
                Err(Problem::unavailable(problem, 2).caused_by(cause))
            }
        }
    }

    /// Sends the browser to sign in and then back here. Its cookie is of no further use, and is deleted.
    pub(crate) fn to_sign_in(&self) -> HttpResponse {
        let mut answer = see_other(&sign_in_path(&self.path));
        set_cookie(&mut answer, &self.dashboard.cookies.expired(NAME));
        answer
    }
}

impl FromRequest for SignedInVisitor {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        let visitor = Visitor::from_cookies(req);
        Box::pin(async move {
            match visitor?.check_sign_in().await? {
                SignInState::SignedIn(user) => Ok(user),
                SignInState::Nobody(visitor) if visitor.dashboard.oauth.is_none() => {
                    Err(response(see_other(HOME)))
                }
                SignInState::Nobody(visitor) => Err(response(visitor.to_sign_in())),
            }
        })
    }
}

impl SignedInVisitor {
    /// Returns a caller of the services with this user's token.
    pub(crate) fn call(&self) -> ApiClient<'_> {
        let visitor = &self.visitor;
        let http = &visitor.dashboard.http;
        http.caller(self.sign_in.token(), &visitor.request_id)
    }

    /// Returns the CSRF token of the forms on this user's page.
    pub(crate) fn form_token(&self) -> String {
        let Visitor {
            page,
            browser,
            dashboard,
            ..
        } = &self.visitor;
        CsrfToken::new(&*self.sign_in.username, &**page).seal(&dashboard.sealers.forms, browser)
    }

    /// Returns the frame of a page with this title, in the theme that the user prefers.
    pub(crate) fn frame(&self, title: impl Into<String>, data: &UserData) -> PageFrame {
        PageFrame {
            csrf: self.form_token(),
            username: Some(self.sign_in.username.clone()),
            theme: match data.preferences.theme_preference.as_str() {
                "light" => "light",
                "dark" => "dark",
                _ => "",
            },
            path: self.visitor.request.path().to_owned(),
            ..PageFrame::anonymous(&self.visitor.dashboard, title)
        }
    }

    pub(crate) fn show(&self, status: StatusCode, page: &impl Template) -> HttpResponse {
        self.add_cookies(html(status, page, &self.visitor.dashboard.policy))
    }

    /// Sends the browser to a path of the dashboard after a form has succeeded (303).
    pub(crate) fn see_other(&self, path: &str) -> HttpResponse {
        self.add_cookies(see_other(path))
    }

    /// Returns the response with the cookies of a renewed sign-in and of a new browser.
    pub(crate) fn add_cookies(&self, mut answer: HttpResponse) -> HttpResponse {
        let visitor = &self.visitor;
        add_cookies(&visitor.request, &visitor.dashboard, &mut answer);
        answer
    }

    /// Returns the result of a call. A rejected token sends the user to sign in again; other errors are shown.
    pub(crate) fn on<T>(&self, answer: Result<T, ApiError>) -> actix_web::Result<T> {
        answer.map_err(|error| self.failed(error))
    }

    /// Returns the result of a form: a response, or the rejection by the services. Other errors are shown.
    pub(crate) fn split_rejection<T>(
        &self,
        answer: Result<T, ApiError>,
    ) -> actix_web::Result<Result<T, ApiRejection>> {
        match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => self.on(error.into_correctable()).map(Err),
        }
    }

    /// Sends the content of a form to the work-session service.
    pub(crate) async fn submit<T: DeserializeOwned>(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Value,
    ) -> actix_web::Result<Result<T, ApiRejection>> {
        self.split_rejection(self.call().send(method, path, body).await)
    }

    /// Sends a change without any fields to the work-session service.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        method: reqwest::Method,
        path: &str,
    ) -> actix_web::Result<T> {
        self.on(self.call().send(method, path, json!({})).await)
    }

    fn failed(&self, error: ApiError) -> actix_web::Error {
        let now = self.visitor.dashboard.clock.now();
        match error {
            ApiError::SignedOut if now - self.sign_in.since > JUST_NOW => {
                match *self.visitor.request.method() {
                    Method::POST => signed_out(&self.visitor),
                    _ => response(self.visitor.to_sign_in()),
                }
            }
            ApiError::SignedOut => {
                Problem::unavailable(t("dashboard-token-rejected").to_string(), 10).into()
            }
            error => Problem::from(error).into(),
        }
    }
}

pub(crate) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, path.to_owned()))
        .finish()
}

fn response(answer: HttpResponse) -> actix_web::Error {
    InternalError::from_response("not signed in", answer).into()
}
