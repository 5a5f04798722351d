//! The public profile of an account.

use actix_web::HttpResponse;
use askama::Template;
use serde::Deserialize;
use service_kit::http::Query;

use super::photo::Avatar;
use crate::origin::RequestContext;
use crate::pages::form::Form;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, DoneQuery, FormMessages};
use crate::pages::text;
use crate::pages::visitor::Member;
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

pub(super) async fn page(member: Member, query: Query<DoneQuery>) -> HttpResponse {
    let account = &member.user.account;
    let bio = account.bio.as_deref().unwrap_or_default();
    let website_url = account.website_url.as_deref().unwrap_or_default();
    show(&member, query.0.notices(), (bio, website_url))
}

pub(super) async fn save(
    form: Form<ProfileForm>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (member, typed) = form.by_member()?;
    let user = &member.user;
    let request = UpdateProfileRequest {
        // Browsers end lines with CR LF, programs with LF.
        bio: Some(text::given(typed.bio.replace("\r\n", "\n"))),
        website_url: Some(text::given(typed.website_url.clone())),
        ..UpdateProfileRequest::default()
    };
    let saved = service::update_user(&member.visitor.app, user, request, origin).await;
    match saved {
        Ok(_) => Ok(member.visitor.see_other("/account/profile?done=profile")),
        Err(error) => {
            let notices = notices::of(error, &["bio", "website_url"])?;
            Ok(show(&member, notices, (&typed.bio, &typed.website_url)))
        }
    }
}

fn show(member: &Member, notices: FormMessages, (bio, website_url): (&str, &str)) -> HttpResponse {
    let page = ProfilePage {
        frame: member.visitor.frame("Profile").with(notices),
        portrait: Avatar::of(&member.user.account),
        bio,
        website_url,
    };
    member.visitor.show(page.frame.status(), &page)
}
