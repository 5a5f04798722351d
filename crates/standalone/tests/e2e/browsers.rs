//! What users do in their browsers, from the first page to the last.

mod dashboard;
mod pages;

use serde_json::Value;
use service_kit::Clock;
use test_kit::{ApiClient, FakePage, FakeWebServer, images};
use totp_rs::{Builder, Secret};
use url::Url;
use url::form_urlencoded::Serializer;

use crate::browser::Browser;
use crate::site::{Client, PASSWORD, Site};

/// The example of PKCE (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_user_registers_and_protects_the_account_with_a_second_factor() {
    let site = Site::plain().await;
    let browser = Browser::start(&site).await;
    browser.open("/account").await;
    browser.sees("Sign in").await;
    browser.check_page("sign-in").await;
    browser.follow("Create an account").await;
    browser.sees("Create an account").await;
    browser.fill("Username", "m").await;
    browser.fill("Password", "short").await;
    browser.press("Create account").await;
    browser.sees("Create an account").await;
    browser.check_page("register-refused").await;
    browser.fill("Username", "mia").await;
    browser.fill("E-mail address", "mia@example.com").await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Create account").await;
    browser.sees("Your account").await;
    browser.check_page("account").await;

    browser.follow("Second factor").await;
    browser.sees("Second factor").await;
    browser.check_page("second-factor-off").await;
    browser.fill("Current password", PASSWORD).await;
    browser.press("Set up").await;
    browser.sees("Set up second factor").await;
    browser.check_page("second-factor-setup").await;
    let text = browser.text().await;
    let mut words = text.split_whitespace().filter(|word| word.len() >= 32);
    let secret = words.next_back().unwrap();
    browser.fill("6-digit code", &code(secret, 0)).await;
    browser.press("Turn on").await;
    browser.sees("Recovery codes").await;
    browser.check_page("recovery-codes").await;
    browser.follow("I have saved them").await;
    browser.sees("Second factor").await;
    browser.check_page("second-factor-on").await;

    browser.press("Sign out").await;
    browser.sees("You are signed out").await;
    browser.follow("Sign in").await;
    browser.sign_in("mia").await;
    browser.sees("Enter your code").await;
    browser.check_page("sign-in-code").await;
    browser.fill("Code", "000000").await;
    browser.press("Sign in").await;
    browser.sees("Enter your code").await;
    browser.check_page("sign-in-code-refused").await;
    // The first code is used up; the next one is valid already.
    browser.fill("Code", &code(secret, 30)).await;
    browser.press("Sign in").await;
    browser.sees("Your account").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn an_sso_application_signs_a_user_in() {
    let site = Site::plain().await;
    site.register("mia").await;
    let app = FakeWebServer::start([]).await;
    let query = Serializer::new(String::new())
        .append_pair("redirect_uri", &app.url("/welcome?kept=1"))
        .append_pair("service", "Lamp room")
        .finish();
    let address = format!("{}/api/auth/sso/authorize?{query}", site.base);
    show(
        &app,
        "/",
        &format!(
            "<h1>Lamp room</h1><a href=\"{}\">Sign in with Holdfast</a>",
            escaped(&address)
        ),
    );
    show(&app, "/welcome", "<h1>Welcome</h1>");

    let browser = Browser::start(&site).await;
    browser.open(&app.url("/")).await;
    browser.follow("Sign in with Holdfast").await;
    browser.sign_in("mia").await;
    let landed = browser.arrives(&app.url("/welcome?kept=1&")).await;
    let (token, user) = (parameter(&landed, "token"), parameter(&landed, "user_id"));
    assert_eq!(parameter(&landed, "access_token"), token);
    assert_eq!(parameter(&landed, "username"), "mia");

    let check = format!("/api/auth/sso/callback?{}", landed.query().unwrap());
    let checked = site.api.get(&check).send().await.expect(200).json();
    assert_eq!(checked["user_id"].to_string(), user);
    let me = site.api.get("/api/auth/me").bearer(&token).send().await;
    assert_eq!(me.expect(200).json()["user"]["username"], "mia");

    browser.open("/account/sessions").await;
    browser.sees("Sign-ins").await;
    assert!(browser.text().await.contains("Lamp room"));
    browser.check_page("sessions").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_user_denies_allows_and_revokes_the_access_of_a_client() {
    let site = Site::plain().await;
    site.register("mia").await;
    let party = third_party(&site).await;
    let browser = Browser::start(&site).await;
    browser.open(&party.web.url("/")).await;
    browser.follow("Sign in with Holdfast").await;
    browser.sign_in("mia").await;
    browser
        .sees("Allow Lighthouse to access your account?")
        .await;
    browser.check_page("consent").await;
    browser.press("Deny").await;
    let denied = browser.arrives(&party.callback()).await;
    assert_eq!(parameter(&denied, "error"), "access_denied");
    assert_eq!(parameter(&denied, "state"), "a state");

    browser.open(&party.web.url("/")).await;
    browser.follow("Sign in with Holdfast").await;
    browser
        .sees("Allow Lighthouse to access your account?")
        .await;
    browser.press("Allow").await;
    let tokens = party
        .redeem(&browser.arrives(&party.callback()).await)
        .await;
    let access = tokens["access_token"].as_str().unwrap();
    let me = site
        .api
        .get("/api/oauth/userinfo")
        .bearer(access)
        .send()
        .await;
    assert_eq!(me.expect(200).json()["preferred_username"], "mia");

    // The consent is stored until it is revoked.
    browser.open(&party.web.url("/")).await;
    browser.follow("Sign in with Holdfast").await;
    browser.arrives(&party.callback()).await;
    browser.open("/account/applications").await;
    browser.sees("Applications").await;
    browser.check_page("applications").await;
    browser.press("Revoke access for Lighthouse").await;
    browser
        .arrives(&format!("{}/account/applications?", site.base))
        .await;
    browser.sees("Applications").await;
    browser.check_page("applications-none").await;
    let call = site.api.get("/api/oauth/userinfo").bearer(access);
    call.send().await.expect(401);

    let unknown = format!(
        "/api/oauth/authorize?client_id=nobody&redirect_uri={}",
        party.callback()
    );
    browser.open(&unknown).await;
    browser.check_page("authorize-refused").await;
    assert_eq!(browser.address().await.path(), "/api/oauth/authorize");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn the_last_form_leads_to_the_client_and_on_to_where_it_redirects() {
    let site = Site::plain().await;
    site.register("mia").await;
    let party = third_party(&site).await;
    let third = FakeWebServer::start([]).await;
    show(&third, "/home", "<h1>Home</h1>");
    party
        .web
        .set("/callback", FakePage::Redirect(third.url("/home")));
    let browser = Browser::start(&site).await;
    // The consent is the last form the first time, and the sign-in the second time.
    browser.open(&party.web.url("/")).await;
    browser.follow("Sign in with Holdfast").await;
    browser.sign_in("mia").await;
    browser
        .sees("Allow Lighthouse to access your account?")
        .await;
    browser.press("Allow").await;
    browser.arrives(&third.url("/home")).await;
    browser.open("/account").await;
    browser.press("Sign out").await;
    browser.sees("You are signed out").await;
    browser.open(&party.web.url("/")).await;
    browser.follow("Sign in with Holdfast").await;
    browser.sign_in("mia").await;
    browser.arrives(&third.url("/home")).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn sign_in_and_consent_work_without_scripts_and_over_https() {
    let site = Site::secure().await;
    site.register("mia").await;
    let party = third_party(&site).await;
    let browser = Browser::without_scripts(&site).await;
    browser.open(&party.web.url("/")).await;
    assert!(browser.text().await.contains("Scripts are off"));
    browser.follow("Sign in with Holdfast").await;
    browser.sign_in("mia").await;
    browser
        .sees("Allow Lighthouse to access your account?")
        .await;
    browser.press("Allow").await;
    party
        .redeem(&browser.arrives(&party.callback()).await)
        .await;
    browser.open("/account").await;
    let cookies = browser.client.cookies().await.unwrap();
    let cookies = cookies.as_array().unwrap();
    for cookie in cookies {
        let is_kept = cookie["name"]
            .as_str()
            .unwrap()
            .starts_with("__Host-holdfast_");
        assert!(is_kept && cookie["httpOnly"] == true, "{cookie}");
    }
    assert_eq!(cookies.len(), 2);
    browser.press("Sign out").await;
    browser.sees("You are signed out").await;
    browser.open("/account").await;
    browser.sees("Sign in").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_device_is_connected_with_the_code_that_it_shows() {
    let site = Site::plain().await;
    site.register("mia").await;
    let scopes = [
        "--scope",
        "profile",
        "--scope",
        "sessions:write",
        "--grant-type",
        "device_code",
        "--public",
    ];
    let client = site.client("Desk clock", "http://127.0.0.1/", &scopes);
    let body = format!("client_id={}", client.id);
    let begun = form(&site.api, "/api/oauth/device_authorization", body).await;
    let browser = Browser::signed_in(&site, "mia").await;
    browser
        .open(begun["verification_uri"].as_str().unwrap())
        .await;
    browser.sees("Connect a device").await;
    browser.check_page("device").await;
    browser.fill("Code", "BCDF-GHJK").await;
    browser.press("Continue").await;
    browser.sees("Connect a device").await;
    browser.check_page("device-refused").await;
    browser
        .fill("Code", begun["user_code"].as_str().unwrap())
        .await;
    browser.press("Continue").await;
    browser
        .sees("Allow Desk clock to access your account?")
        .await;
    browser.check_page("device-confirm").await;
    browser.press("Allow").await;
    browser.sees("Device connected").await;
    browser.check_page("device-done").await;
    let body = Serializer::new(String::new())
        .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
        .append_pair("client_id", &client.id)
        .append_pair("device_code", begun["device_code"].as_str().unwrap())
        .finish();
    let tokens = form(&site.api, "/api/oauth/token", body).await;
    assert_eq!(tokens["scope"], "profile sessions:write");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_photo_is_uploaded_and_shown() {
    let site = Site::plain().await;
    site.register("mia").await;
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("mia.jpg"), folder.path().join("mia.txt"));
    std::fs::write(&good, images::jpeg(640, 480)).unwrap();
    std::fs::write(&bad, "no picture").unwrap();
    let browser = Browser::signed_in(&site, "mia").await;
    browser.open("/account/photo").await;
    browser.sees("Photo").await;
    browser.check_page("photo-none").await;
    browser.choose_file("New photo", &bad).await;
    browser.press("Upload").await;
    browser.reads("is not a readable JPEG").await;
    browser.check_page("photo-refused").await;
    browser.choose_file("New photo", &good).await;
    browser.press("Upload").await;
    browser.reads("Photo saved.").await;
    // The picture has loaded by then, or failed to.
    let width = "const image = document.querySelector('img.avatar');\
        return image.decode().then(() => image.naturalWidth)";
    let width = browser.script(width, &[]).await;
    assert!(width.as_u64().unwrap() > 0);
    browser.check_page("photo").await;
    browser.press("Remove photo").await;
    browser.reads("Photo removed.").await;
    assert!(browser.text().await.contains("You have no photo"));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn somebody_invited_by_mail_becomes_a_member() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = Browser::signed_in(&site, "mia").await;
    browser.open("/teams").await;
    browser.sees("Teams").await;
    browser.check_page("teams-none").await;
    browser.follow("New team").await;
    browser.sees("New team").await;
    browser.fill("Name", "Night shift").await;
    browser.fill("Short name", "night-shift").await;
    browser.fill("Description", "We keep the lamp lit.").await;
    browser.check_page("team-new").await;
    browser.press("Create team").await;
    browser.sees("Night shift").await;
    browser.follow("Add members").await;
    browser.sees("Add members").await;
    browser.fill("E-mail address", "sam@example.com").await;
    browser.press("Send invitation").await;
    browser.reads("Invitation sent.").await;
    browser.check_page("team-people").await;
    browser.close().await;

    let link = site.link_in_mail("sam@example.com", "/invitations/").await;
    let browser = Browser::start(&site).await;
    browser.open(&link).await;
    browser.sees("Join Night shift?").await;
    browser.check_page("invitation").await;
    browser.follow("Create an account").await;
    browser.sees("Create an account").await;
    browser.fill("Username", "sam").await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Create account").await;
    browser.sees("Join Night shift?").await;
    browser.check_page("invitation-signed-in").await;
    browser.press("Join team").await;
    browser.sees("Night shift").await;
    assert!(browser.text().await.contains("sam (you)"));
    browser.check_page("team-member").await;
    // From now on the link leads to the team; for others it is used up.
    browser.open(&link).await;
    browser.sees("Night shift").await;
    assert!(browser.text().await.contains("sam (you)"));
    browser.close().await;
    let browser = Browser::start(&site).await;
    browser.open(&link).await;
    browser.sees("This invitation was already accepted").await;
    browser.check_page("invitation-gone").await;
    browser.close().await;

    let browser = Browser::signed_in(&site, "mia").await;
    for (path, name) in [
        ("/teams", "teams"),
        ("/teams/night-shift", "team"),
        ("/teams/night-shift/settings", "team-settings"),
        ("/teams/night-shift/members/sam", "team-role"),
        ("/teams/night-shift/members/sam/remove", "team-remove"),
        ("/teams/night-shift/members/sam/hand-over", "team-hand-over"),
        ("/teams/night-shift/leave", "team-leave"),
        ("/teams/night-shift/delete", "team-delete"),
    ] {
        browser.open(path).await;
        assert_eq!(browser.address().await.path(), path);
        browser.check_page(name).await;
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_forgotten_password_is_replaced_by_mail() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = Browser::start(&site).await;
    let verify = site.link_in_mail("mia@example.com", "/verify-email/").await;
    browser.open(&verify).await;
    browser.check_page("verify-email").await;
    browser.press("Verify address").await;
    browser.sees("Address verified").await;
    browser.check_page("verify-email-done").await;

    browser.open("/login").await;
    browser.follow("Forgot your password?").await;
    browser.sees("Reset your password").await;
    browser.check_page("forgot-password").await;
    browser.fill("Username or e-mail address", "mia").await;
    browser.press("Send reset link").await;
    let reset = site
        .link_in_mail("mia@example.com", "/reset-password/")
        .await;
    browser.sees("Check your e-mail").await;
    browser.check_page("forgot-password-done").await;
    browser.open(&reset).await;
    browser.sees("Choose a new password").await;
    browser.check_page("reset-password").await;
    browser.fill("New password", "staple battery horse").await;
    browser.press("Set new password").await;
    browser.sees("Password changed").await;
    browser.check_page("reset-password-done").await;

    browser.open("/login").await;
    browser.sign_in("mia").await;
    browser.sees("Sign in").await;
    browser.check_page("sign-in-refused").await;
    browser.fill("Password", "staple battery horse").await;
    browser.press("Sign in").await;
    browser.sees("Your account").await;
    for (path, name) in [
        ("/account/profile", "profile"),
        ("/account/email", "email"),
        ("/account/password", "password"),
        ("/account/delete", "delete-account"),
        ("/nowhere", "not-found"),
    ] {
        browser.open(path).await;
        assert_eq!(browser.address().await.path(), path);
        browser.check_page(name).await;
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn the_keyboard_alone_is_enough_to_sign_in_and_out() {
    let site = Site::plain().await;
    site.register("mia").await;
    let browser = Browser::start(&site).await;
    browser.open("/login").await;
    browser.sees("Sign in").await;
    // The first field has the focus.
    browser.keys("mia").await;
    browser.keys(TAB).await;
    browser.keys(PASSWORD).await;
    browser.keys(TAB).await;
    browser.keys(ENTER).await;
    browser.sees("Your account").await;

    // The first key reaches the link past the navigation, and each further one something that shows its focus.
    let mut passed = Vec::new();
    for _ in 0..8 {
        browser.keys(TAB).await;
        let focused = "const at = document.activeElement, style = getComputedStyle(at);
            return [at.textContent.trim(), style.outlineStyle, at.getBoundingClientRect().left]";
        let focused = browser.script(focused, &[]).await;
        let name = focused[0].as_str().unwrap().to_owned();
        assert_ne!(
            focused[1], "none",
            "{name} does not show that it has the focus"
        );
        assert!(
            focused[2].as_f64().unwrap() >= 0.0,
            "{name} is out of sight"
        );
        passed.push(name);
        if passed.last().unwrap() == "Sign out" {
            break;
        }
    }
    assert_eq!(
        passed,
        [
            "Skip to content",
            "Holdfast",
            "Account",
            "Teams",
            "Sign out"
        ]
    );
    browser.keys(ENTER).await;
    browser.sees("You are signed out").await;
    browser.check_page("signed-out").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn an_administrator_finds_users_clients_keys_and_the_audit_log() {
    let site = Site::plain().await;
    site.register("sam").await;
    let made = site.admin(&["users", "create", "ada", "--superadmin"]);
    site.client("Lighthouse", "https://lighthouse.example/callback", &[]);
    let browser = Browser::start(&site).await;
    browser.open("/login").await;
    browser.fill("Username", "ada").await;
    browser
        .fill("Password", made["password"].as_str().unwrap())
        .await;
    browser.press("Sign in").await;
    browser.sees("Your account").await;
    browser.follow("Administration").await;
    browser.check_page("admin-users").await;
    assert!(browser.text().await.contains("sam"));
    for (path, name) in [
        ("/admin/users/1", "admin-user"),
        ("/admin/users/1/deactivate", "admin-deactivate"),
        ("/admin/clients", "admin-clients"),
        ("/admin/clients/new", "admin-client-new"),
        ("/admin/keys", "admin-keys"),
        ("/admin/keys/rotate", "admin-keys-rotate"),
        ("/admin/audit", "admin-audit"),
    ] {
        browser.open(path).await;
        assert_eq!(browser.address().await.path(), path);
        browser.check_page(name).await;
    }
    browser.close().await;
}

/// A third-party web application, which asks for some scopes.
struct ThirdParty {
    web: FakeWebServer,
    client: Client,
    api: ApiClient,
}

async fn third_party(site: &Site) -> ThirdParty {
    let web = FakeWebServer::start([]).await;
    let scopes = ["openid", "profile", "email", "sessions:read"];
    let args: Vec<&str> = scopes.iter().flat_map(|scope| ["--scope", scope]).collect();
    let client = site.client("Lighthouse", &web.url("/callback"), &args);
    let query = Serializer::new(String::new())
        .append_pair("client_id", &client.id)
        .append_pair("response_type", "code")
        .append_pair("redirect_uri", &web.url("/callback"))
        .append_pair("scope", &scopes.join(" "))
        .append_pair("state", "a state")
        .append_pair("code_challenge", CHALLENGE)
        .append_pair("code_challenge_method", "S256")
        .finish();
    let address = format!("{}/api/oauth/authorize?{query}", site.base);
    let link = format!(
        "<h1>Lighthouse</h1><a href=\"{}\">Sign in with Holdfast</a>",
        escaped(&address)
    );
    let script =
        "<p id=s>Scripts are off</p><script>document.getElementById('s').remove()</script>";
    show(&web, "/", &format!("{link}{script}"));
    show(&web, "/callback", "<h1>Welcome</h1>");
    let api = site.api.clone();
    ThirdParty { web, client, api }
}

impl ThirdParty {
    fn callback(&self) -> String {
        self.web.url("/callback")
    }

    /// Exchanges the code of a redirect for tokens.
    async fn redeem(&self, landed: &Url) -> Value {
        assert_eq!(parameter(landed, "state"), "a state");
        let body = Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", &parameter(landed, "code"))
            .append_pair("redirect_uri", &self.callback())
            .append_pair("client_id", &self.client.id)
            .append_pair("client_secret", &self.client.secret)
            .append_pair("code_verifier", VERIFIER)
            .finish();
        form(&self.api, "/api/oauth/token", body).await
    }
}

async fn form(api: &ApiClient, path: &str, body: String) -> Value {
    let call = api
        .post(path)
        .body("application/x-www-form-urlencoded", body);
    call.send().await.expect(200).json()
}

fn show(web: &FakeWebServer, path: &str, body: &str) {
    let html = format!("<!doctype html><html lang=en><title>Theirs</title><body>{body}");
    web.set(
        path,
        FakePage::File("text/html; charset=utf-8", html.into()),
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
}

#[track_caller]
fn parameter(address: &Url, name: &str) -> String {
    let found = address.query_pairs().find(|(known, _)| known == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {address}"))
        .1
        .into_owned()
}

/// Returns the code that an authenticator app shows in so many seconds.
fn code(secret: &str, later: u64) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let totp = Builder::new().with_secret(secret).build().unwrap();
    let now = u64::try_from(Clock::system().now().timestamp()).unwrap();
    totp.generate(now + later).to_string()
}
