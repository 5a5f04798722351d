//! The visitor of a page, as an argument type of handlers.

use std::sync::Arc;

use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use auth_types::AccountRole;
use messages::t;
use secrecy::ExposeSecret as _;
use service_kit::Problem;
use service_kit::crypto::random_token;
use web_kit::FormMessages;
use web_kit::assets::STYLESHEET;
use web_kit::cookies::set_cookie;
use web_kit::form::CsrfToken;
use web_kit::html::{PagePolicy, WITHOUT_SCRIPTS, html};

use super::page_frame::PageFrame;
use super::text::with_query;
use crate::app::App;
use crate::auth::{CurrentUser, SECOND_FACTOR_MISSING, SuperAdmin, extract_by};
use crate::cookies::Name;
use crate::error::Error;
use crate::sessions;
use crate::tokens::access_token::VerifiedToken;
use crate::tokens::refresh_token::RefreshToken;

/// A visitor with a browser, signed in or not.
pub(crate) struct Visitor {
    pub(crate) app: Data<App>,
    /// The account of the browser's cookie, if its session is valid.
    pub(crate) user: Option<CurrentUser>,
    /// Identifies this browser, signed in or not. The tokens of its forms are bound to it.
    browser: String,
    /// Whether the response must set that identifier as a cookie.
    is_new: bool,
    /// Whether a sign-in may be set as a cookie on this connection.
    pub(super) may_sign_in: bool,
    path: String,
    /// The path of the page that the browser shows, to which it can return.
    pub(super) page: String,
}

/// A signed-in visitor. Others are redirected to the sign-in page.
pub(crate) struct SignedInVisitor {
    pub(crate) visitor: Visitor,
    pub(crate) user: CurrentUser,
}

/// A SUPERADMIN on a page. Others get 404.
pub(crate) struct Administrator {
    pub(crate) visitor: Visitor,
    pub(crate) admin: SuperAdmin,
}

extract_by!(Visitor, Error, Visitor::load);
extract_by!(SignedInVisitor, actix_web::Error, SignedInVisitor::load);
extract_by!(Administrator, actix_web::Error, Administrator::load);

impl Visitor {
    /// Reads the request's cookies. An invalid or expired sign-in counts as none.
    pub(crate) async fn load(req: &HttpRequest) -> Result<Self, Error> {
        let app = App::from_request(req)?;
        let user = match app.cookies.read(req, Name::SignIn) {
            Some(value) => signed_in(&app, &value).await?,
            None => None,
        };
        let known = app.cookies.read(req, Name::Forms);
        let known = known.filter(|value| value.len() == 43);
        let path = req.uri().path_and_query();
        Ok(Self {
            page: req.path().to_owned(),
            is_new: known.is_none(),
            may_sign_in: app.cookies.allow(req),
            browser: known.unwrap_or_else(|| random_token().expose_secret().to_owned()),
            path: path.map_or_else(String::new, ToString::to_string),
            app,
            user,
        })
    }

    /// Returns the account for the token of a form, empty without a sign-in.
    pub(super) fn account(&self) -> String {
        let user = self.user.as_ref();
        user.map_or_else(String::new, |user| user.account.id.to_string())
    }

    /// Opens the token of a form that this browser sent.
    ///
    /// # Errors
    /// 403 for a form that was not shown in this browser.
    pub(super) fn open_token(&self, given: Option<&str>) -> Result<CsrfToken, Problem> {
        CsrfToken::open(&self.app.sealers.forms, &self.browser, given)
    }

    pub(crate) fn browser(&self) -> &str {
        &self.browser
    }

    pub(crate) fn frame(&self, title: impl Into<String>) -> PageFrame {
        let user = self.user.as_ref();
        PageFrame {
            title: title.into(),
            csrf: CsrfToken::new(self.account(), &*self.page)
                .seal(&self.app.sealers.forms, &self.browser),
            username: user.map(|user| user.account.username.clone()),
            is_superadmin: user
                .is_some_and(|user| matches!(user.account.role(), Ok(AccountRole::Superadmin))),
            stylesheet: STYLESHEET.path(),
            path: self.path.split('?').next().unwrap_or_default().to_owned(),
            messages: FormMessages::default(),
        }
    }

    pub(crate) fn show(&self, status: StatusCode, page: &impl Template) -> HttpResponse {
        self.show_under(&WITHOUT_SCRIPTS, status, page)
    }

    /// Renders a page with another policy than the usual one.
    pub(crate) fn show_under(
        &self,
        policy: &PagePolicy,
        status: StatusCode,
        page: &impl Template,
    ) -> HttpResponse {
        let mut answer = html(status, page, policy);
        self.add_cookies(&mut answer);
        answer
    }

    /// Redirects the browser to a path of this service (303), so that a reload does not send a form again.
    pub(crate) fn see_other(&self, path: &str) -> HttpResponse {
        let mut answer = HttpResponse::SeeOther()
            .insert_header((LOCATION, path.to_owned()))
            .finish();
        self.add_cookies(&mut answer);
        answer
    }

    /// Returns the address of the sign-in or registration page that leads on to `path`. A signed-in visitor sees it, too.
    pub(crate) fn entry_path(&self, page: &str, path: &str) -> String {
        match self.user {
            Some(_) => with_query(page, &[("return_to", path), ("again", "true")]),
            None => path_with_return(page, path),
        }
    }

    /// Redirects the browser to the sign-in page, which leads back here.
    pub(crate) fn to_sign_in(&self) -> HttpResponse {
        self.see_other(&sign_in_path(&self.path))
    }

    fn add_cookies(&self, answer: &mut HttpResponse) {
        if self.is_new {
            set_cookie(answer, &self.app.cookies.forms(self.browser.clone()));
        }
    }
}

/// Returns the address of the sign-in page that leads on to `path`.
pub(crate) fn sign_in_path(path: &str) -> String {
    path_with_return("/login", path)
}

/// Returns the address of a page that finally leads on to `path`.
pub(crate) fn path_with_return(page: &str, path: &str) -> String {
    with_query(page, &[("return_to", path)])
}

impl SignedInVisitor {
    async fn load(req: &HttpRequest) -> Result<Self, actix_web::Error> {
        Self::new(Visitor::load(req).await?)
    }

    /// Returns the signed-in visitor, or as an error the redirect to the sign-in page.
    pub(crate) fn new(visitor: Visitor) -> Result<Self, actix_web::Error> {
        match visitor.user.clone() {
            Some(user) => Ok(Self { visitor, user }),
            None => {
                let answer = visitor.to_sign_in();
                Err(InternalError::from_response("not signed in", answer).into())
            }
        }
    }
}

impl Administrator {
    async fn load(req: &HttpRequest) -> Result<Self, actix_web::Error> {
        Self::new(SignedInVisitor::load(req).await?).await
    }

    /// Checks that the caller is an administrator. Others get 404, or a page that says what is missing.
    pub(crate) async fn new(caller: SignedInVisitor) -> Result<Self, actix_web::Error> {
        let SignedInVisitor { visitor, user } = caller;
        if user.account.role()? != AccountRole::Superadmin {
            return Err(service_kit::Problem::not_found().into());
        }
        match SuperAdmin::new(&visitor.app, user).await {
            Ok(admin) => Ok(Self { visitor, admin }),
            Err(Error::Forbidden(SECOND_FACTOR_MISSING)) => {
                let page = SecondFactorPage {
                    frame: visitor.frame(t("account-second-factor")),
                };
                let answer = visitor.show(StatusCode::FORBIDDEN, &page);
                Err(InternalError::from_response("no second factor", answer).into())
            }
            Err(Error::Forbidden(_)) => {
                let page = SignInAgainPage {
                    frame: visitor.frame(t("identity-sign-in-again")),
                };
                let answer = visitor.show(StatusCode::FORBIDDEN, &page);
                Err(InternalError::from_response("signed in too long ago", answer).into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The page for an administrator whose sign-in is too old.
#[derive(Template)]
#[template(path = "admin/sign_in_again.html")]
struct SignInAgainPage {
    frame: PageFrame,
}

/// The page for an administrator without a second factor, if administration requires one.
#[derive(Template)]
#[template(path = "admin/second_factor.html")]
struct SecondFactorPage {
    frame: PageFrame,
}

/// Finds the account of a cookie's session, if both are valid.
async fn signed_in(app: &App, cookie: &str) -> Result<Option<CurrentUser>, Error> {
    let Some(token) = RefreshToken::parse(cookie) else {
        return Ok(None);
    };
    let found = app
        .read(move |db| sessions::queries::find_by_cookie(db, &token))
        .await?;
    let now = app.clock.now_naive();
    let good = found.filter(|(_, session, account)| {
        session.revoked_at.is_none() && session.expires_at > now && account.is_active
    });
    Ok(good.map(|(session_id, session, account)| {
        let expires_at = session.expires_at.and_utc().timestamp();
        let token = VerifiedToken::of_cookie(account.id, session_id, expires_at);
        CurrentUser {
            account: Arc::new(account),
            session,
            token: Arc::new(token),
        }
    }))
}
