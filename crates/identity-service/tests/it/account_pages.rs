use chrono::Duration;
use serde_json::{Value, json};
use test_kit::images::{png, seen};

use crate::browser::{Browser, Page};
use crate::credential_helpers::OTHER;
use crate::oauth_fixture::OAuth;
use crate::pages::every_page::is_a_good_page;
use crate::support::{Identity, PASSWORD, SignedIn};
use crate::totp::App;

/// Registers an account and signs a browser in to it.
async fn at_home(identity: &Identity, username: &str) -> (SignedIn, Browser) {
    let user = identity.register(username).await;
    (user, Browser::signed_in(identity, username).await)
}

/// Returns the codes that a page shows.
fn shown_codes(page: &Page) -> Vec<String> {
    let codes = page.html.split("<code>").skip(1);
    codes
        .map(|rest| rest.split("</code>").next().unwrap().to_owned())
        .collect()
}

fn shown_secret(page: &Page) -> String {
    let (_, rest) = page.html.split_once("<code class=\"secret\">").unwrap();
    rest.split_once("</code>").unwrap().0.to_owned()
}

/// Every page of the account area.
const PAGES: [&str; 10] = [
    "/account",
    "/account/profile",
    "/account/photo",
    "/account/email",
    "/account/password",
    "/account/second-factor",
    "/account/sessions",
    "/account/applications",
    "/account/export",
    "/account/delete",
];

const FORMS: [&str; 12] = [
    "/account/profile",
    "/account/photo",
    "/account/photo/remove",
    "/account/email",
    "/account/password",
    "/account/second-factor/setup",
    "/account/second-factor/confirm",
    "/account/second-factor/codes",
    "/account/second-factor/off",
    "/account/sessions/end-others",
    "/account/applications/revoke",
    "/account/delete",
];

#[tokio::test(flavor = "multi_thread")]
async fn account_pages_redirect_to_sign_in_unless_the_visitor_is_signed_in() {
    let identity = Identity::start().await;
    let (_, mut known) = at_home(&identity, "ada").await;
    for path in PAGES {
        let page = Browser::new(&identity).fetch(path).await.expect(303);
        let target = format!("/login?return_to={}", path.replace('/', "%2F"));
        assert_eq!(page.leads_to.as_deref(), Some(target.as_str()), "{path}");
        let page = known.fetch(path).await.expect(200);
        if path != "/account/export" {
            is_a_good_page(&page);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn account_forms_are_refused_without_the_browsers_csrf_token_or_from_another_site() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let before = identity.me(&ada).await;
    for path in FORMS {
        let foreign = Browser::signed_in(&identity, "ada").await.get(path).await;
        let foreign = foreign.html.split("name=\"csrf\" value=\"").nth(1);
        let foreign = foreign.map_or("x", |rest| rest.split('"').next().unwrap());
        for token in ["", foreign] {
            let call = identity
                .api
                .post(path)
                .header("cookie", cookies(&browser))
                .header("accept", "text/html");
            let reply = call.body(
                "application/x-www-form-urlencoded",
                format!("csrf={token}&password={PASSWORD}&bio=x&id=x&code=1"),
            );
            // The photo form is read as multipart, so this body contains no token at all.
            let reply = reply.send().await;
            assert!(
                [400, 403].contains(&reply.status),
                "{path}: {}",
                reply.status
            );
        }
    }
    let form = browser.get("/account/profile").await;
    let form = form.form("/account/profile").set("bio", "from elsewhere");
    browser
        .post_from("cross-site", form.clone())
        .await
        .expect(403);
    browser.post_from("same-site", form).await.expect(403);
    assert_eq!(identity.me(&ada).await, before);
}

fn cookies(browser: &Browser) -> String {
    let pairs = browser.cookies.iter();
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("; ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_saved_and_errors_appear_beside_their_field() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let form = browser.get("/account/profile").await;
    let form = form.form("/account/profile");
    let form = form
        .set("bio", "Mathematician\r\n& <b>poet's</b> child")
        .set("website_url", "https://ada.example/")
        .set("display_name", "Ada <i>Lovelace</i>")
        .set("locale", "en-gb")
        .set("zoneinfo", "Europe/London");
    let page = browser.submit(form.clone()).await.expect(200);
    let page = page.says("Profile saved.");
    assert_eq!(
        page.form("/account/profile").value("bio"),
        Some("Mathematician\n& <b>poet's</b> child")
    );
    assert!(!page.html.contains("<b>poet"));
    let home = browser.get("/account").await;
    assert!(
        home.text().contains("Ada <i>Lovelace</i> ada"),
        "{}",
        home.text()
    );
    let me = identity.me(&ada).await;
    assert_eq!(me["bio"], "Mathematician\n& <b>poet's</b> child");
    assert_eq!(me["display_name"], "Ada <i>Lovelace</i>");
    assert_eq!(
        (&me["locale"], &me["zoneinfo"]),
        (&json!("en-GB"), &json!("Europe/London"))
    );

    let bad = form.clone().set("website_url", "javascript:alert(1)");
    let page = browser.submit(bad).await.expect(400);
    is_a_good_page(&page);
    assert!(page.html.contains("id=\"website_url-error\""));
    assert!(page.html.contains("aria-describedby=\"website_url-error"));
    let typed = page.form("/account/profile");
    assert_eq!(typed.value("website_url"), Some("javascript:alert(1)"));
    assert!(typed.value("bio").unwrap().starts_with("Mathematician"));
    assert_eq!(identity.me(&ada).await, me);
    for (field, value) in [
        ("display_name", "a\u{202e}b"),
        ("locale", "in English"),
        ("zoneinfo", "Mars/Base"),
    ] {
        let page = browser
            .submit(form.clone().set(field, value))
            .await
            .expect(400);
        assert!(
            page.html.contains(&format!("id=\"{field}-error\"")),
            "{field}"
        );
    }

    let nul = form.clone().set("bio", "a\0b");
    browser.submit(nul).await.expect(400);
    let empty = form.set("bio", " ").set("website_url", "");
    browser.submit(empty).await.expect(200);
    let me = identity.me(&ada).await;
    assert_eq!(
        (&me["bio"], &me["website_url"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_done_parameter_is_not_shown_on_the_page() {
    let identity = Identity::start().await;
    let (_, mut browser) = at_home(&identity, "ada").await;
    let page = browser.get("/account/profile?done=You+are+hacked").await;
    assert!(!page.expect(200).text().contains("hacked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_uploaded_shown_and_removed_by_forms() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let form = browser.get("/account/photo").await.form("/account/photo");
    let file = png(700, 350);
    let sent = form.clone().file("photo", "me.png", "image/png", &file);
    let page = browser.submit(sent).await.expect(200);
    let page = page.says("Photo saved.");
    let (_, rest) = page
        .html
        .split_once("<img class=\"avatar\" src=\"")
        .unwrap();
    let path = rest.split('"').next().unwrap().to_owned();
    assert!(path.starts_with(&format!(
        "/api/public/user/{}/profile-photo/file?v=",
        ada.id
    )));
    let photo = identity.api.get(&path).send().await.expect(200);
    assert_eq!(seen(&photo.body).dimensions(), (512, 256));
    assert!(browser.get("/account").await.html.contains(&path));

    let text = form
        .clone()
        .file("photo", "me.png", "image/png", b"no image");
    let page = browser.submit(text).await.expect(415);
    assert!(page.html.contains("id=\"photo-error\""));
    let nothing = form
        .clone()
        .file("photo", "", "application/octet-stream", b"");
    let page = browser.submit(nothing).await.expect(400);
    assert!(page.html.contains("id=\"photo-error\""));
    let forged = form
        .forged("csrf", "x")
        .file("photo", "a.png", "image/png", &file);
    browser.submit(forged).await.expect(403);
    identity.api.get(&path).send().await.expect(200);

    let page = browser.get("/account/photo").await;
    let page = browser.submit(page.form("/account/photo/remove")).await;
    assert!(
        page.says("Photo removed.")
            .forms("/account/photo/remove")
            .is_empty()
    );
    identity.api.get(&path).send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_address_is_changed_by_its_mail_link_which_can_be_sent_again() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let form = browser.get("/account/email").await.form("/account/email");
    let form = form.set("email", "ada@example.com");
    let page = browser
        .submit(form.clone().set("password", "wrong horse"))
        .await;
    let page = page.expect(401);
    assert!(page.html.contains("id=\"password-error\""));
    let again = page.form("/account/email");
    assert_eq!(again.value("email"), Some("ada@example.com"));
    assert_eq!(again.value("password"), Some(""));
    assert_eq!(identity.mailed("verify_email"), [""; 0]);

    let form = form.set("password", PASSWORD);
    let page = browser.submit(form.clone()).await.expect(200);
    page.says("We sent a link to the address you entered.");
    let bad = form.clone().set("email", "nobody");
    let page = browser.submit(bad).await.expect(400);
    assert!(page.html.contains("id=\"email-error\""));
    identity.hand.advance(Duration::seconds(1));
    browser.submit(form).await.expect(200);
    assert_eq!(identity.mailed("verify_email"), ["ada@example.com"; 2]);
    let token = identity.last_link("verify_email");
    identity.verify_email(&token).await.expect(204);
    browser
        .get("/account")
        .await
        .says("ada@example.com Verified");
    assert_eq!(identity.me(&ada).await["email_verified"], true);

    identity.register_verified("bob", "bob@example.com").await;
    let form = browser.get("/account/email").await.form("/account/email");
    let taken = form
        .set("email", "BOB@example.com")
        .set("password", PASSWORD);
    let page = browser.submit(taken).await.expect(400);
    assert!(page.html.contains("id=\"email-error\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_ends_the_other_sessions_but_not_this_browsers() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let mut other = Browser::signed_in(&identity, "ada").await;
    let page = browser.get("/account/password").await;
    let form = page
        .says("signs you out everywhere else")
        .form("/account/password");
    let fill = |now: &str, new: &str, again: &str| {
        let form = form.clone().set("password", now);
        form.set("new_password", new).set("repeated", again)
    };
    for (form, status, field) in [
        (fill("wrong horse", OTHER, OTHER), 401, "password"),
        (fill(PASSWORD, "short", "short"), 400, "new_password"),
        (fill(PASSWORD, OTHER, "battery stable"), 400, "repeated"),
    ] {
        let page = browser.submit(form).await.expect(status);
        assert!(
            page.html.contains(&format!("id=\"{field}-error\"")),
            "{field}"
        );
        for secret in [PASSWORD, OTHER, "wrong horse"] {
            assert!(!page.html.contains(secret));
        }
    }
    identity.validate(&ada.access).await.expect(200);
    let page = browser
        .submit(fill(PASSWORD, OTHER, OTHER))
        .await
        .expect(200);
    page.says("Password changed. You are signed out everywhere else.");
    identity.validate(&ada.access).await.expect(401);
    other.fetch("/account").await.expect(303);
    browser.fetch("/account").await.expect(200);
    identity.login("ada", OTHER).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_is_set_up_and_switched_off_and_its_codes_renewed_by_forms() {
    let identity = Identity::start().await;
    let (_, mut browser) = at_home(&identity, "ada").await;
    let page = browser.get("/account/second-factor").await;
    let form = page.form("/account/second-factor/setup");
    let wrong = form.clone().set("password", "wrong horse");
    browser.submit(wrong).await.expect(401);
    let page = browser
        .submit(form.set("password", PASSWORD))
        .await
        .expect(200);
    assert!(page.html.contains("<svg class=\"qr\""));
    let app = App::new(&json!(shown_secret(&page)));
    assert!(
        page.html
            .contains(&format!("secret={}", shown_secret(&page)))
    );
    let form = page.form("/account/second-factor/confirm");
    let page = browser
        .submit(form.clone().set("code", "000000"))
        .await
        .expect(401);
    assert!(page.html.contains("id=\"code-error\""));
    let page = browser
        .submit(form.set("code", &app.next(&identity)))
        .await
        .expect(200);
    let codes = shown_codes(&page);
    assert_eq!(codes.len(), 10);
    browser
        .get("/account/second-factor")
        .await
        .says("You have 10 recovery codes left");

    let page = browser.get("/account/second-factor/codes").await;
    let form = page
        .form("/account/second-factor/codes")
        .set("password", PASSWORD);
    let page = browser
        .submit(form.clone().set("totp_code", "000000"))
        .await
        .expect(401);
    assert!(page.html.contains("id=\"password-error\""));
    let page = browser
        .submit(form.clone().set("totp_code", ""))
        .await
        .expect(401);
    assert!(page.html.contains("id=\"totp_code-error\""));
    let page = browser
        .submit(form.set("totp_code", &app.next(&identity)))
        .await
        .expect(200);
    let new_codes = shown_codes(&page);
    assert!(codes.iter().all(|code| !new_codes.contains(code)));

    let page = browser.get("/account/second-factor/off").await;
    let form = page
        .form("/account/second-factor/off")
        .set("password", PASSWORD);
    let old = form.clone().set("totp_code", &codes[0]);
    browser.submit(old).await.expect(401);
    let page = browser
        .submit(form.set("totp_code", &new_codes[0]))
        .await
        .expect(200);
    page.says("Second factor turned off.");
    identity.login("ada", PASSWORD).await.expect(200);
    // There is nothing to turn off any more.
    let page = browser.get("/account/second-factor/off").await;
    assert_eq!(page.path, "/account/second-factor");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_with_their_device_and_ended_one_by_one_or_together() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let call = identity.api.post("/api/auth/login").header(
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    );
    let body = json!({ "username": "ada", "password": PASSWORD });
    let desk = crate::support::signed_in(&call.json(body).send().await.expect(200).json());
    let mut browser = Browser::signed_in(&identity, "ada").await;
    let page = browser
        .get("/account/sessions")
        .await
        .says("Firefox on Linux");
    let page = page.says("Current");
    let forms = page.forms("/account/sessions/end");
    assert_eq!(forms.len(), 3);
    let query = |user: &SignedIn| {
        let id = user.id;
        format!("SELECT id AS t FROM sessions WHERE user_id = {id} ORDER BY created_at, id")
    };
    // The form does not end another account's session.
    let foreign = &crate::support::texts(&identity.db.pool(1), &query(&bob))[0];
    let forged = forms[0].clone().forged("id", foreign);
    browser.submit(forged).await.expect(404);
    identity.validate(&bob.access).await.expect(200);

    let user_agents = "SELECT id AS t FROM sessions WHERE user_agent LIKE '%Firefox%'";
    let id = &crate::support::texts(&identity.db.pool(1), user_agents)[0];
    let form = forms.iter().find(|form| form.value("id") == Some(id));
    let page = browser.submit(form.unwrap().clone()).await.expect(200);
    page.says("Signed out.");
    identity.validate(&desk.access).await.expect(401);
    identity.validate(&ada.access).await.expect(200);

    let page = browser.get("/account/sessions").await;
    let page = browser
        .submit(page.form("/account/sessions/end-others"))
        .await;
    let page = page.says("Signed out everywhere else.");
    identity.validate(&ada.access).await.expect(401);
    assert!(page.forms("/account/sessions/end-others").is_empty());
    // Ending the browser's own session signs it out.
    let page = browser.submit(page.form("/account/sessions/end")).await;
    assert!(page.path.starts_with("/login"), "{}", page.path);
    browser.fetch("/account").await.expect(303);
    assert_eq!(
        identity
            .count("SELECT count(*) AS n FROM sessions WHERE revoked_at IS NULL AND user_id = 1"),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_is_a_download_that_other_sites_cannot_request() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let page = browser.get("/account/export").await.expect(200);
    assert_eq!(
        page.reply.header("content-disposition"),
        "attachment; filename=\"holdfast-ada.json\""
    );
    assert_eq!(page.reply.json()["account"]["username"], "ada");
    assert_eq!(identity.audited("account.exported", &ada), 1);
    let call = identity.api.get("/account/export");
    let call = call.header("cookie", cookies(&browser));
    call.header("sec-fetch-site", "cross-site")
        .send()
        .await
        .expect(403);
    assert_eq!(identity.audited("account.exported", &ada), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_deleted_by_its_form_unless_it_owns_a_team_with_other_members() {
    let identity = Identity::start().await;
    let (ada, mut browser) = at_home(&identity, "ada").await;
    let (_, mut bob) = at_home(&identity, "bob").await;
    let team = json!({ "name": "The Crew", "slug": "crew" });
    identity.by(&ada, "/api/teams", team).await.expect(201);
    let page = browser
        .get("/account/delete")
        .await
        .says("The team The Crew");
    let form = page.form("/account/delete");
    let page = browser
        .submit(form.clone().set("password", "wrong horse"))
        .await;
    assert!(page.expect(401).html.contains("id=\"password-error\""));

    let bob_joins = json!({ "username": "bob" });
    identity
        .by(&ada, "/api/teams/crew/members", bob_joins)
        .await
        .expect(201);
    let page = browser
        .get("/account/delete")
        .await
        .says("You own teams that have other members");
    assert!(page.forms("/account/delete").is_empty());
    let form = form.set("password", PASSWORD);
    browser.submit(form.clone()).await.expect(409);
    identity.validate(&ada.access).await.expect(200);

    let remove = bob.get("/teams/crew/leave").await.form("/teams/crew/leave");
    bob.submit(remove).await.expect(200);
    let page = browser.submit(form).await.expect(200);
    page.says("Account deleted");
    identity.validate(&ada.access).await.expect(401);
    browser.fetch("/account").await.expect(303);
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_are_listed_with_their_access_which_a_form_revokes() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    let path = "/account/applications";
    browser
        .get(path)
        .await
        .says("No applications have access to your account.");
    let pair = oauth.tokens("web", "openid profile").await;
    let access = pair["access_token"].as_str().unwrap();
    let page = browser.get("/account/sessions").await;
    is_a_good_page(&page);
    page.says("The web <app> Application").says("Browser");
    let page = browser.get(path).await.says("The web <app>");
    is_a_good_page(&page);
    let form = page
        .says("See your name, username, photo, language and time zone")
        .form("/account/applications/revoke");
    let other = form.clone().forged("client_id", "own");
    browser.submit(other).await.expect(404);
    oauth.identity.validate(access).await.expect(200);
    let page = browser.submit(form).await.expect(200);
    page.says("Access revoked.")
        .says("No applications have access");
    oauth.identity.validate(access).await.expect(401);
    browser.fetch("/account").await.expect(200);
}
