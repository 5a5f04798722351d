//! The public profile of an account.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use super::photo::Avatar;
use crate::pages::form::Form;
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::profiles::service;
use crate::profiles::wire::UpdateProfileRequest;
use crate::request_context::RequestContext;

#[derive(Template)]
#[template(path = "account/profile.html")]
struct ProfilePage<'a> {
    frame: PageFrame,
    portrait: Avatar,
    bio: &'a str,
    website_url: &'a str,
}

#[derive(Deserialize)]
pub(super) struct ProfileForm {
    #[serde(default)]
    bio: String,
    #[serde(default)]
    website_url: String,
}

pub(super) async fn page(caller: SignedInVisitor, query: Query<DoneQuery>) -> HttpResponse {
    let account = &caller.user.account;
    let bio = account.bio.as_deref().unwrap_or_default();
    let website_url = account.website_url.as_deref().unwrap_or_default();
    show(&caller, query.0.messages(), (bio, website_url))
}

pub(super) async fn save(
    form: Form<ProfileForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, input) = form.by_caller()?;
    let user = &caller.user;
    let request = UpdateProfileRequest {
        // Browsers end lines with CR LF, programs with LF.
        bio: Some(text::given(input.bio.replace("\r\n", "\n"))),
        website_url: Some(text::given(input.website_url.clone())),
        ..UpdateProfileRequest::default()
    };
    let saved = service::update_user(&caller.visitor.app, user, request, context).await;
    match saved {
        Ok(_) => Ok(caller.visitor.see_other("/account/profile?done=profile")),
        Err(error) => {
            let messages = messages_for(error, &["bio", "website_url"])?;
            Ok(show(&caller, messages, (&input.bio, &input.website_url)))
        }
    }
}

fn show(
    caller: &SignedInVisitor,
    messages: FormMessages,
    (bio, website_url): (&str, &str),
) -> HttpResponse {
    let page = ProfilePage {
        frame: caller.visitor.frame(t("account-profile")).with(messages),
        portrait: Avatar::from_account(&caller.user.account),
        bio,
        website_url,
    };
    caller.visitor.show(page.frame.status(), &page)
}
