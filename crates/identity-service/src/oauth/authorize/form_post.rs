//! The page that posts a response to the client (OAuth 2.0 Form Post Response Mode). It submits itself; without scripts, the
//! user presses its button.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use messages::t;
use service_kit::crypto::sha256;
use web_kit::html::{FORMS_LEAD_ELSEWHERE, PagePolicy, html};

use super::response::AuthorizationResponse;
use crate::pages::page_frame::PageFrame;

const SCRIPT: &str = r#"document.getElementById("response").submit()"#;

/// Allows this one script. Like the other pages that lead to clients, the page does not restrict the targets of forms:
/// Chromium would apply that to the redirects of the client, too.
static POLICY: LazyLock<PagePolicy> = LazyLock::new(|| {
    let hash = STANDARD.encode(sha256(SCRIPT.as_bytes()));
    FORMS_LEAD_ELSEWHERE.allowing("script-src", &format!("'sha256-{hash}'"))
});

#[derive(Template)]
#[template(path = "form_post.html")]
struct FormPostPage<'a> {
    frame: PageFrame,
    response: &'a AuthorizationResponse,
    host: &'a str,
    script: &'static str,
}

pub(super) fn form_post(response: &AuthorizationResponse) -> HttpResponse {
    let page = FormPostPage {
        frame: PageFrame::anonymous(t("oauth-form-post")),
        response,
        host: response.redirect_uri.host_str().unwrap_or_default(),
        script: SCRIPT,
    };
    html(StatusCode::OK, &page, &POLICY)
}
