//! Pages of other origins that sign users in: the example of `docs/oauth/page`, a popup, and oidc-client-ts.

use test_kit::{FakePage, FakeWebServer};

use crate::browser::{Browser, given};
use crate::site::{Client, Site};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/oauth/page");
const CONSENT: &str = "Allow Lighthouse to access your account?";

/// A page of another origin, registered as a public client.
struct App {
    web: FakeWebServer,
    client: Client,
}

impl App {
    async fn start(site: &Site) -> Self {
        let web = FakeWebServer::start([]).await;
        let client = site.client("Lighthouse", &web.url("/"), &["--public"]);
        Self { web, client }
    }

    /// Serves the module that names the issuer and the client.
    fn serve_config(&self, site: &Site) {
        let (issuer, id) = (&site.base, &self.client.id);
        let config = format!("export const ISSUER = '{issuer}'\nexport const CLIENT_ID = '{id}'\n");
        self.serve("/config.js", "text/javascript", config);
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
async fn oidc_client_ts_signs_in_by_redirect_and_popup_renews_and_revokes() {
    let site = Site::plain().await;
    site.register("mia").await;
    let app = App::start(&site).await;
    app.serve("/", "text/html", include_str!("oidc_client_ts.html"));
    app.serve_config(&site);
    let library = std::fs::read(given("OIDC_CLIENT_TS")).unwrap();
    app.serve("/oidc-client-ts.js", "text/javascript", library);

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

    browser.press("Sign in").await;
    browser.sees(CONSENT).await;
    browser.press("Allow").await;
    browser.reads("Redirect: mia").await;
    browser.press("Renew").await;
    browser.reads("Renewed: mia true").await;
    browser.press("Sign out").await;
    browser.reads("Signed out").await;
    browser.close().await;
}
