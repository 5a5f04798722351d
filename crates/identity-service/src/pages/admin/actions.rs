//! Actions of an administrator on an account, each confirmed on a page of its own.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::{AccountRole, UserId};
use messages::{Text, t};
use service_kit::Problem;
use service_kit::http::Path;

use crate::admin::service;
use crate::admin::wire::{AdminUser, UpdateUserRequest};
use crate::credentials::password_reset;
use crate::credentials::wire::ForgotRequest;
use crate::error::Error;
use crate::pages::form::{EmptyForm, Form};
use crate::pages::form_messages::{FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::Administrator;
use crate::request_context::RequestContext;

#[derive(Template)]
#[template(path = "admin/confirm.html")]
struct ActionConfirmPage<'a> {
    frame: PageFrame,
    username: &'a str,
    back: String,
    /// Where the form is sent.
    path: String,
    meaning: Text,
}

#[derive(Template)]
#[template(path = "admin/password.html")]
struct NewPasswordPage<'a> {
    frame: PageFrame,
    username: &'a str,
    back: String,
    password: &'a str,
}

struct AdminAction {
    /// In the path, and the name of the message after the action.
    name: &'static str,
    /// The ids of the title, which is also the button, and of the meaning.
    ids: (&'static str, &'static str),
    effect: AdminEffect,
}

#[derive(Clone, Copy)]
enum AdminEffect {
    Active(bool),
    Role(AccountRole),
    EndSessions,
    MailReset,
    NewPassword,
}

const ACTIONS: [AdminAction; 7] = [
    AdminAction {
        name: "deactivate",
        ids: ("admin-deactivate", "admin-deactivate-meaning"),
        effect: AdminEffect::Active(false),
    },
    AdminAction {
        name: "activate",
        ids: ("admin-activate", "admin-activate-meaning"),
        effect: AdminEffect::Active(true),
    },
    AdminAction {
        name: "promote",
        ids: ("admin-promote", "admin-promote-meaning"),
        effect: AdminEffect::Role(AccountRole::Superadmin),
    },
    AdminAction {
        name: "demote",
        ids: ("admin-demote", "admin-demote-meaning"),
        effect: AdminEffect::Role(AccountRole::User),
    },
    AdminAction {
        name: "end-sessions",
        ids: ("admin-end-sessions", "admin-end-sessions-meaning"),
        effect: AdminEffect::EndSessions,
    },
    AdminAction {
        name: "mail-reset",
        ids: ("admin-mail-reset", "admin-mail-reset-meaning"),
        effect: AdminEffect::MailReset,
    },
    AdminAction {
        name: "new-password",
        ids: ("admin-new-password", "admin-new-password-meaning"),
        effect: AdminEffect::NewPassword,
    },
];

fn find_action(name: &str) -> Result<&'static AdminAction, Problem> {
    let found = ACTIONS.iter().find(|action| action.name == name);
    found.ok_or_else(Problem::not_found)
}

/// Runs the action. Returns a page if the result is more than a message.
async fn run(
    effect: AdminEffect,
    admin: &Administrator,
    id: UserId,
    context: &RequestContext,
) -> Result<Option<HttpResponse>, Error> {
    let app = &admin.visitor.app;
    let mut changes = UpdateUserRequest::default();
    match effect {
        AdminEffect::Active(is_active) => changes.is_active = Some(is_active),
        AdminEffect::Role(role) => changes.role = Some(role),
        AdminEffect::EndSessions => {
            service::revoke_sessions(app, id, context).await?;
            return Ok(None);
        }
        AdminEffect::MailReset => {
            let request = ForgotRequest {
                username: Some(service::get(app, id).await?.user.username),
                email: None,
            };
            password_reset::forgot(app, request, context).await?;
            return Ok(None);
        }
        AdminEffect::NewPassword => return new_password(admin, id, context).await.map(Some),
    }
    service::update(app, id, changes, context).await?;
    Ok(None)
}

/// The account and the action in the path.
type ActionPath = Path<(UserId, String)>;

pub(super) async fn ask(admin: Administrator, path: ActionPath) -> actix_web::Result<HttpResponse> {
    let (id, action) = path.0;
    let action = find_action(&action)?;
    let user = service::get(&admin.visitor.app, id).await?;
    Ok(show(&admin, &user, action, FormMessages::default()))
}

pub(super) async fn act(
    form: Form<EmptyForm>,
    path: ActionPath,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, _) = form.by_administrator().await?;
    let (id, action) = path.0;
    let action = find_action(&action)?;
    let app = &admin.visitor.app;
    let context = context.for_admin(&admin.admin);
    match run(action.effect, &admin, id, &context).await {
        Ok(Some(page)) => Ok(page),
        Ok(None) => {
            let path = format!("{}?done={}", path_of(id), action.name);
            Ok(admin.visitor.see_other(&path))
        }
        Err(error) => {
            let messages = messages_for(error, &[])?;
            let user = service::get(app, id).await?;
            Ok(show(&admin, &user, action, messages))
        }
    }
}

async fn new_password(
    admin: &Administrator,
    id: UserId,
    context: &RequestContext,
) -> Result<HttpResponse, Error> {
    let made = service::reset_password(&admin.visitor.app, id, None, context).await?;
    let page = NewPasswordPage {
        frame: admin.visitor.frame(t("admin-password")),
        username: &made.user.user.username,
        back: path_of(id),
        password: made.password.as_deref().unwrap_or_default(),
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

fn show(
    admin: &Administrator,
    user: &AdminUser,
    action: &AdminAction,
    messages: FormMessages,
) -> HttpResponse {
    let back = path_of(user.user.id);
    let page = ActionConfirmPage {
        frame: admin.visitor.frame(t(action.ids.0)).with(messages),
        username: &user.user.username,
        path: format!("{back}/{}", action.name),
        back,
        meaning: t(action.ids.1),
    };
    admin.visitor.show(page.frame.status(), &page)
}

fn path_of(id: UserId) -> String {
    format!("/admin/users/{id}")
}
