//! The public profile of an account.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use super::photo::Avatar;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::text;
use crate::pages::visitor::SignedInVisitor;
use crate::profiles::service;
use crate::profiles::wire::UpdateProfileRequest;

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
    show(&caller, query.0.notices(), (bio, website_url))
}

pub(super) async fn save(
    form: Form<ProfileForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, typed) = form.by_caller()?;
    let user = &caller.user;
    let request = UpdateProfileRequest {
        // Browsers end lines with CR LF, programs with LF.
        bio: Some(text::given(typed.bio.replace("\r\n", "\n"))),
        website_url: Some(text::given(typed.website_url.clone())),
        ..UpdateProfileRequest::default()
    };
    let saved = service::update_user(&caller.visitor.app, user, request, origin).await;
    match saved {
        Ok(_) => Ok(caller.visitor.see_other("/account/profile?done=profile")),
        Err(error) => {
            let notices = notices::of(error, &["bio", "website_url"])?;
            Ok(show(&caller, notices, (&typed.bio, &typed.website_url)))
        }
    }
}

fn show(
    caller: &SignedInVisitor,
    notices: FormMessages,
    (bio, website_url): (&str, &str),
) -> HttpResponse {
    let page = ProfilePage {
        frame: caller.visitor.frame(t("account-profile")).with(notices),
        portrait: Avatar::of(&caller.user.account),
        bio,
        website_url,
    };
    caller.visitor.show(page.frame.status(), &page)
}
