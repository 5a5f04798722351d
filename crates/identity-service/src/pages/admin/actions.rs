//! What an administrator does to an account. Each is asked about on a page of its own.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::{AccountRole, UserId};
use service_kit::Problem;
use service_kit::http::Path;

use crate::admin::service;
use crate::admin::wire::{AdminUser, UpdateUserRequest};
use crate::app::App;
use crate::credentials::reset;
use crate::credentials::wire::ForgotRequest;
use crate::error::Error;
use crate::origin::Origin;
use crate::pages::form::{Empty, Form};
use crate::pages::layout::Frame;
use crate::pages::notices::{self, Notices};
use crate::pages::visitor::Administrator;

#[derive(Template)]
#[template(path = "admin/confirm.html")]
struct ConfirmPage<'a> {
    frame: Frame,
    notices: Notices,
    username: &'a str,
    back: String,
    /// Where the form goes.
    path: String,
    meaning: &'static str,
    button: &'static str,
}

#[derive(Template)]
#[template(path = "admin/password.html")]
struct PasswordPage<'a> {
    frame: Frame,
    username: &'a str,
    back: String,
    password: &'a str,
}

/// What can be done, by its name in addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Deactivate,
    Activate,
    Promote,
    Demote,
    EndSessions,
    MailReset,
    NewPassword,
}

impl Action {
    const ALL: [Self; 7] = [
        Self::Deactivate,
        Self::Activate,
        Self::Promote,
        Self::Demote,
        Self::EndSessions,
        Self::MailReset,
        Self::NewPassword,
    ];

    fn parse(name: &str) -> Result<Self, Problem> {
        let found = Self::ALL.into_iter().find(|action| action.name() == name);
        found.ok_or_else(Problem::not_found)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Deactivate => "deactivate",
            Self::Activate => "activate",
            Self::Promote => "promote",
            Self::Demote => "demote",
            Self::EndSessions => "end-sessions",
            Self::MailReset => "mail-reset",
            Self::NewPassword => "new-password",
        }
    }

    /// The question, what it means, the button, and what is said when it is done.
    fn words(self) -> [&'static str; 4] {
        match self {
            Self::Deactivate => [
                "Deactivate the account",
                "All its sessions end at once, and nobody can sign in to it. Others do not see it any more. Nothing is deleted.",
                "Deactivate",
                "deactivated",
            ],
            Self::Activate => [
                "Activate the account",
                "Its owner can sign in again, and others see it again.",
                "Activate",
                "activated",
            ],
            Self::Promote => [
                "Make the account a SUPERADMIN",
                "It may then do everything that these pages can do: to all accounts, to clients and to keys.",
                "Make it a SUPERADMIN",
                "promoted",
            ],
            Self::Demote => [
                "Make the account an ordinary one",
                "It loses these pages and everything on them.",
                "Make it an ordinary account",
                "demoted",
            ],
            Self::EndSessions => [
                "End all sessions of the account",
                "Its owner is signed out on every device and in every application, and can sign in again.",
                "End all sessions",
                "sessions-ended",
            ],
            Self::MailReset => [
                "Mail a link to a new password",
                "The mail goes to the account's address, if that is known to be its owner's. The password stays good until the link is used.",
                "Send the mail",
                "reset-mailed",
            ],
            Self::NewPassword => [
                "Set a new password",
                "The password is made here and shown once, for you to tell its owner. The old one is good no more, and all sessions end.",
                "Set a new password",
                "",
            ],
        }
    }

    async fn run(self, app: &App, id: UserId, origin: &Origin) -> Result<(), Error> {
        let changes = match self {
            Self::Deactivate => UpdateUserRequest {
                is_active: Some(false),
                ..UpdateUserRequest::default()
            },
            Self::Activate => UpdateUserRequest {
                is_active: Some(true),
                ..UpdateUserRequest::default()
            },
            Self::Promote => UpdateUserRequest {
                role: Some(AccountRole::Superadmin),
                ..UpdateUserRequest::default()
            },
            Self::Demote => UpdateUserRequest {
                role: Some(AccountRole::User),
                ..UpdateUserRequest::default()
            },
            Self::EndSessions => {
                return service::revoke_sessions(app, id, origin).await.map(drop);
            }
            Self::MailReset => {
                let request = ForgotRequest {
                    username: Some(service::get(app, id).await?.user.username),
                    email: None,
                };
                return reset::forgot(app, request, origin).await;
            }
            Self::NewPassword => return Err(Error::Internal("is answered by a page".to_owned())),
        };
        service::update(app, id, changes, origin).await.map(drop)
    }
}

/// The account and the action in the path.
type Segments = Path<(UserId, String)>;

pub(super) async fn ask(admin: Administrator, path: Segments) -> actix_web::Result<HttpResponse> {
    let (id, action) = path.0;
    let action = Action::parse(&action)?;
    let user = service::get(&admin.visitor.app, id).await?;
    Ok(show(&admin, &user, action, Notices::default()))
}

pub(super) async fn act(
    form: Form<Empty>,
    path: Segments,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (admin, _) = form.by_administrator().await?;
    let (id, action) = path.0;
    let action = Action::parse(&action)?;
    let app = &admin.visitor.app;
    let origin = origin.of_admin(&admin.admin);
    let done = match action {
        Action::NewPassword => new_password(&admin, id, &origin).await.map(Some),
        other => other.run(app, id, &origin).await.map(|()| None),
    };
    match done {
        Ok(Some(page)) => Ok(page),
        Ok(None) => {
            let [_, _, _, done] = action.words();
            let path = format!("{}?done={done}", path_of(id));
            Ok(admin.visitor.see_other(&path))
        }
        Err(error) => {
            let notices = notices::of(error, &[])?;
            let user = service::get(app, id).await?;
            Ok(show(&admin, &user, action, notices))
        }
    }
}

async fn new_password(
    admin: &Administrator,
    id: UserId,
    origin: &Origin,
) -> Result<HttpResponse, Error> {
    let made = service::reset_password(&admin.visitor.app, id, None, origin).await?;
    let page = PasswordPage {
        frame: admin.visitor.frame("New password"),
        username: &made.user.user.username,
        back: path_of(id),
        password: made.password.as_deref().unwrap_or_default(),
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

fn show(admin: &Administrator, user: &AdminUser, action: Action, notices: Notices) -> HttpResponse {
    let [title, meaning, button, _] = action.words();
    let back = path_of(user.user.id);
    let status = notices.status();
    let page = ConfirmPage {
        frame: admin.visitor.frame(title),
        notices,
        username: &user.user.username,
        path: format!("{back}/{}", action.name()),
        back,
        meaning,
        button,
    };
    admin.visitor.show(status, &page)
}

fn path_of(id: UserId) -> String {
    format!("/admin/users/{id}")
}
