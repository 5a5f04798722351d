//! Pages of other origins that sign users in: the example of `docs/oauth/page`, a popup, oidc-client-ts, and
//! angular-oauth2-oidc.

use test_kit::{FakePage, FakeWebServer, TlsProxy};

use crate::browser::{Browser, given};
use crate::site::{Client, Site};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/oauth/page");
const CONSENT: &str = "Allow Lighthouse to access your account?";

/// A page of another origin, registered as a public client.
struct App {
    web: FakeWebServer,
    client: Client,
    _front: Option<TlsProxy>,
}

impl App {
    async fn start(site: &Site) -> Self {
        let web = FakeWebServer::start([]).await;
        let client = Self::register(site, &web.url("/"), &[]);
        Self {
            web,
            client,
            _front: None,
        }
    }

    /// Starts a page at each of these names below `test`, over https. It gets no refresh token.
    async fn without_refresh_token(site: &Site, hosts: [&'static str; 2]) -> (Self, [String; 2]) {
        let web = FakeWebServer::start([]).await;
        let front = TlsProxy::start().await;
        front.lead_to(web.address());
        let urls = hosts.map(|host| format!("{}/", front.url().replace("localhost", host)));
        let more = [
            "--grant-type",
            "authorization_code",
            "--redirect-uri",
            &urls[1],
        ];
        let client = Self::register(site, &urls[0], &more);
        let app = Self {
            web,
            client,
            _front: Some(front),
        };
        (app, urls)
    }

    fn register(site: &Site, url: &str, more: &[&str]) -> Client {
        let options = ["--public", "--post-logout-redirect-uri", url];
        site.client("Lighthouse", url, &[&options, more].concat())
    }

    /// Serves the module that names the issuer and the client.
    fn serve_config(&self, site: &Site) {
        let (issuer, id) = (&site.base, &self.client.id);
        let config = format!("export const ISSUER = '{issuer}'\nexport const CLIENT_ID = '{id}'\n");
        self.serve("/config.js", "text/javascript", config);
    }

    fn serve_oidc_client_ts(&self, site: &Site) {
        self.serve("/", "text/html", include_str!("oidc_client_ts.html"));
        self.serve_config(site);
        let library = std::fs::read(given("OIDC_CLIENT_TS")).unwrap();
        self.serve("/oidc-client-ts.js", "text/javascript", library);
    }

    fn serve(&self, path: &str, kind: &'static str, text: impl Into<Vec<u8>>) {
        self.web.set(path, FakePage::File(kind, text.into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn the_single_page_example_signs_in_refreshes_and_signs_out() {
    let site = Site::plain().await;
    site.register("mia").await;
    let app = App::start(&site).await;
    let read = |name: &str| std::fs::read(format!("{FOLDER}/{name}")).unwrap();
    app.serve("/", "text/html", read("index.html"));
    app.serve("/sign_in.js", "text/javascript", read("sign_in.js"));
    app.serve_config(&site);

    let browser = Browser::start(&site).await;
    browser.open(&app.web.url("/")).await;
    browser.reads("Signed out").await;
    browser.press("Sign in").await;
    browser.sign_in("mia").await;
    browser.sees(CONSENT).await;
    browser.press("Deny").await;
    browser.reads("Not signed in: access_denied").await;

    browser.press("Sign in").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.reads("Signed in as mia").await;
    assert_eq!(browser.address().await.as_str(), app.web.url("/"));
    browser.press("Refresh").await;
    browser.reads("Refreshed for mia").await;
    browser.press("Sign out").await;
    // The page can read why its old token is refused.
    browser.reads("Signed out: invalid_token").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn a_sign_in_popup_reports_to_the_page_that_opened_it() {
    let site = Site::plain().await;
    site.register("mia").await;
    let app = App::start(&site).await;
    let address = format!(
        "{}/api/oauth/authorize?client_id={}&redirect_uri={}&response_type=code&scope=openid&state=s\
         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256",
        site.base,
        app.client.id,
        app.web.url("/"),
    );
    let opener = format!(
        "<!doctype html><h1>Lighthouse</h1><p id=s>Waiting</p><script>
         onmessage = (event) => {{ s.textContent = event.origin + ' reports ' + event.data }}
         </script><button onclick=\"open('{address}', 'popup', 'width=500,height=700')\">Sign in</button>"
    );
    app.serve("/opener", "text/html", opener);
    let callback = "<!doctype html><h1>Back</h1><script>
        if (opener) { opener.postMessage(new URLSearchParams(location.search).get('state'), '*'); close() }
        </script>";
    app.serve("/", "text/html", callback);

    let browser = Browser::start(&site).await;
    browser.open(&app.web.url("/opener")).await;
    let page = browser.client.window().await.unwrap();
    browser.press("Sign in").await;
    let popup = browser.other_window(&page).await;
    browser.client.switch_to(&popup).await.unwrap();
    browser.sign_in("mia").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.client.switch_to(&page).await.unwrap();
    let origin = app.web.url("/");
    let origin = origin.trim_end_matches('/');
    browser.reads(&format!("{origin} reports s")).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn oidc_client_ts_signs_in_by_redirect_and_popup_renews_revokes_and_signs_out() {
    let site = Site::plain().await;
    site.register("mia").await;
    let app = App::start(&site).await;
    app.serve_oidc_client_ts(&site);

    let browser = Browser::start(&site).await;
    browser.open(&app.web.url("/")).await;
    browser.reads("Signed out").await;
    let page = browser.client.window().await.unwrap();
    browser.press("Sign in with a popup").await;
    let popup = browser.other_window(&page).await;
    browser.client.switch_to(&popup).await.unwrap();
    browser.sign_in("mia").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.client.switch_to(&page).await.unwrap();
    browser.reads("Popup: mia").await;
    browser.press("Renew").await;
    browser.reads("Renewed: mia true").await;
    browser.press("Revoke").await;
    browser.reads("Revoked").await;

    browser.press("Sign in").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.reads("Redirect: mia").await;
    browser.press("Renew").await;
    browser.reads("Renewed: mia true").await;
    signs_out_of_holdfast(&browser).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn oidc_client_ts_renews_without_a_refresh_token_only_on_the_same_site() {
    let site = Site::named("id.holdfast.test").await;
    site.register("mia").await;
    let hosts = ["app.holdfast.test", "app.lighthouse.test"];
    let (app, [same_site, elsewhere]) = App::without_refresh_token(&site, hosts).await;
    app.serve_oidc_client_ts(&site);

    let browser = Browser::signed_in(&site, "mia").await;
    browser.open(&same_site).await;
    browser.press("Sign in").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.reads("Redirect: mia").await;
    browser.press("Renew").await;
    browser.reads("Renewed: mia true").await;

    browser.open(&elsewhere).await;
    browser.press("Sign in").await;
    browser.reads("Redirect: mia").await;
    browser.press("Renew").await;
    // A cookie that is SameSite=Lax does not reach an iframe of another site.
    browser.reads("Failed: a new sign-in is required").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: `cargo xtask e2e browsers` runs it"]
async fn angular_oauth2_oidc_signs_in_renews_and_signs_out() {
    let site = Site::secure().await;
    site.register("mia").await;
    let app = App::start(&site).await;
    app.serve("/", "text/html", include_str!("angular/index.html"));
    app.serve_config(&site);
    let library = std::fs::read(given("ANGULAR")).unwrap();
    app.serve("/app.js", "text/javascript", library);

    let browser = Browser::start(&site).await;
    browser.open(&app.web.url("/")).await;
    browser.reads("Signed out").await;
    browser.press("Sign in").await;
    browser.sign_in("mia").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.reads("Signed in: mia mia@example.com").await;
    browser.press("Renew").await;
    browser.reads("Renewed: true").await;
    signs_out_of_holdfast(&browser).await;
    browser.close().await;
}

/// Signs out with the page's button. The page must be shown again, and its next sign-in must ask for the password.
async fn signs_out_of_holdfast(browser: &Browser) {
    browser.press("Sign out").await;
    browser.reads("Signed out").await;
    browser.press("Sign in").await;
    browser.sees("Sign in").await;
}
