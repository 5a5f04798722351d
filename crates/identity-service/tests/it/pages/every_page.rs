use std::collections::BTreeSet;

use crate::browser::{Browser, Page};
use crate::html_parser::{all_elements, elements};
use crate::team_fixture::TeamFixture;

/// Checks what must hold for every page: headers, accessible markup, local addresses and CSRF tokens.
#[track_caller]
pub(crate) fn is_a_good_page(page: &Page) {
    let (reply, call) = (&page.reply, &page.reply.call);
    let policy = reply.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none';"),
        "{call}: {policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains("script"));
    assert!(policy.contains("frame-ancestors 'none'"));
    for (header, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("x-robots-tag", "noindex, nofollow"),
    ] {
        assert_eq!(reply.header(header), value, "{call}: {header}");
    }
    let all = all_elements(&page.html);
    let named = |name: &str| elements(&page.html, &[name]);
    assert_eq!(named("html")[0].attribute("lang"), Some("en"), "{call}");
    assert_eq!(named("h1").len(), 1, "{call}");
    assert_eq!(named("main").len(), 1, "{call}");
    let title = &named("title")[0].text;
    assert!(title.len() > " · Holdfast".len(), "{call}: {title}");
    assert!(named("script").is_empty() && named("style").is_empty());

    let mut ids = BTreeSet::new();
    for element in &all {
        for (name, value) in element.attributes() {
            assert!(!name.starts_with("on") && name != "style", "{call}: {name}");
            let is_address = matches!(name, "href" | "src" | "action" | "srcset");
            let is_here = value.starts_with(['/', '#']) && !value.starts_with("//");
            assert!(
                !is_address || is_here || value == "data:,",
                "{call}: {value}"
            );
        }
        if let Some(id) = element.attribute("id") {
            assert!(ids.insert(id), "{call}: {id} is there twice");
        }
    }
    let labels: Vec<_> = named("label");
    for input in elements(&page.html, &["input", "select", "textarea"]) {
        if input.attribute("type") == Some("hidden") {
            continue;
        }
        let id = input.attribute("id").unwrap();
        let label = labels
            .iter()
            .find(|label| label.attribute("for") == Some(id));
        assert!(!label.expect(id).text.trim().is_empty(), "{call}: {id}");
    }
    for element in &all {
        for tied in element
            .attribute("aria-describedby")
            .unwrap_or_default()
            .split_whitespace()
        {
            assert!(
                ids.contains(tied),
                "{call}: {tied} describes and is not there"
            );
        }
    }
    for form in crate::browser::Form::all(&page.html, &page.path) {
        let has_token = form.value("csrf").is_some_and(|it| it.starts_with("v2."));
        assert_eq!(has_token, form.method == "post", "{call}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_before_the_sign_in_is_safe_and_usable() {
    let fixture = TeamFixture::start().await;
    let identity = &fixture.identity;
    identity.register_at("ada", "ada@example.com").await;
    let verify = identity.last_link("verify_email");
    let mut nobody = Browser::new(identity);
    let form = nobody
        .get("/forgot-password")
        .await
        .form("/forgot-password");
    nobody.submit(form.set("who", "ada")).await.expect(200);
    let reset = identity.last_link("reset_password");
    let (_, invitation) = fixture
        .invited(&fixture.owner, "new@example.com", None)
        .await;
    let member = Browser::signed_in(identity, "sam").await;
    for (path, status) in [
        ("/login", 200),
        ("/login?return_to=/teams", 200),
        ("/register", 200),
        ("/forgot-password", 200),
        (&*format!("/reset-password/{reset}"), 200),
        ("/reset-password/nonsense", 410),
        (&*format!("/verify-email/{verify}"), 200),
        ("/verify-email/nonsense", 410),
        (&*format!("/invitations/{invitation}"), 200),
        ("/invitations/nonsense", 404),
        ("/done/signed-out", 200),
        ("/done/password-changed", 200),
        ("/done/email-confirmed", 200),
        ("/done/link-requested", 200),
        ("/done/invitation-declined", 200),
        ("/done/nonsense", 404),
        ("/nonsense", 404),
        ("/logout", 405),
    ] {
        let page = nobody.get(path).await.expect(status);
        is_a_good_page(&page);
        let page = member.clone().get(path).await;
        if page.path == path {
            is_a_good_page(&page);
        }
    }
    // The pages that report an error follow the same rules.
    for path in ["/login", "/register", "/forgot-password"] {
        let form = nobody.get(path).await.form(path);
        let page = nobody.post(form.clone()).await;
        assert!((400..500).contains(&page.reply.status), "{path}");
        is_a_good_page(&page);
        is_a_good_page(&nobody.post(form.without("csrf")).await.expect(403));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_page_redirects_to_the_account_or_the_sign_in() {
    let identity = crate::support::Identity::start().await;
    identity.register("ada").await;
    let page = Browser::new(&identity).fetch("/").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/login"));
    let page = Browser::signed_in(&identity, "ada").await.fetch("/").await;
    assert_eq!(page.expect(303).leads_to.as_deref(), Some("/account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_style_sheet_is_served_under_the_name_that_pages_link() {
    let identity = crate::support::Identity::start().await;
    let page = Browser::new(&identity).get("/login").await;
    let links = elements(&page.html, &["link"]);
    let link = links
        .iter()
        .find(|link| link.attribute("rel") == Some("stylesheet"));
    let path = link.unwrap().attribute("href").unwrap();
    let reply = identity.api.get(path).send().await.expect(200);
    assert_eq!(reply.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(
        reply.header("cache-control"),
        "public, max-age=31536000, immutable"
    );
    for foreign in ["url(", "@import", "http"] {
        assert!(!reply.text().contains(foreign), "{foreign}");
    }
    identity
        .api
        .get("/assets/holdfast-older.css")
        .send()
        .await
        .expect(404);
}
