//! The profile of an account.

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
    input: &'a ProfileForm,
}

/// The fields of a profile. An empty one is not set.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ProfileForm {
    display_name: String,
    bio: String,
    website_url: String,
    locale: String,
    zoneinfo: String,
}

pub(super) async fn page(caller: SignedInVisitor, query: Query<DoneQuery>) -> HttpResponse {
    let account = &caller.user.account;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let stored = ProfileForm {
        display_name: text(&account.display_name),
        bio: text(&account.bio),
        website_url: text(&account.website_url),
        locale: text(&account.locale),
        zoneinfo: text(&account.zoneinfo),
    };
    show(&caller, query.0.messages(), &stored)
}

pub(super) async fn save(
    form: Form<ProfileForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, input) = form.by_caller()?;
    let user = &caller.user;
    let request = UpdateProfileRequest {
        display_name: Some(text::given(input.display_name.clone())),
        // Browsers end lines with CR LF, programs with LF.
        bio: Some(text::given(input.bio.replace("\r\n", "\n"))),
        website_url: Some(text::given(input.website_url.clone())),
        locale: Some(text::given(input.locale.clone())),
        zoneinfo: Some(text::given(input.zoneinfo.clone())),
        ..UpdateProfileRequest::default()
    };
    let saved = service::update_user(&caller.visitor.app, user, request, context).await;
    match saved {
        Ok(_) => Ok(caller.visitor.see_other("/account/profile?done=profile")),
        Err(error) => {
            let fields = ["display_name", "bio", "website_url", "locale", "zoneinfo"];
            Ok(show(&caller, messages_for(error, &fields)?, &input))
        }
    }
}

fn show(caller: &SignedInVisitor, messages: FormMessages, input: &ProfileForm) -> HttpResponse {
    let page = ProfilePage {
        frame: caller.visitor.frame(t("account-profile")).with(messages),
        portrait: Avatar::from_account(&caller.user.account),
        input,
    };
    caller.visitor.show(page.frame.status(), &page)
}
