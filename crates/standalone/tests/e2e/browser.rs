//! A headless Chromium, used like a person does: elements are found by their words, not by their markup.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use test_kit::{Process, setting, wait_until};
use url::Url;

use crate::site::{PASSWORD, Site};
use crate::webdriver::{Element, WebDriver};

const PATIENCE: Duration = Duration::from_secs(40);

/// Starts a chromedriver; returns it and its address. It takes a free IPv4 port and then the same IPv6 port. If that one is
/// in use, it ends and is started again.
async fn driver(home: &str) -> (Process, String) {
    let start = || {
        let env = BTreeMap::from([("HOME", home), ("TMPDIR", home)]);
        Process::start(Path::new(&given("CHROMEDRIVER")), &["--port=0"], env)
    };
    let mut driver = start();
    let port = wait_until("chromedriver's port", PATIENCE, async || {
        if driver.ended() && driver.stderr().contains("Address already in use") {
            driver = start();
        }
        let said = driver.stdout();
        let (_, port) = said.split_once("started successfully on port ")?;
        port.split('.').next().map(str::to_owned)
    })
    .await;
    (driver, format!("http://127.0.0.1:{port}"))
}

/// A browser with an empty profile.
pub struct Browser {
    pub client: WebDriver,
    /// The problems that [`Browser::check_page`] has found so far.
    pub wrong: Mutex<Vec<String>>,
    base: String,
    driver: Process,
    _home: TempDir,
}

impl Browser {
    pub async fn start(site: &Site) -> Self {
        Self::with(site, json!({})).await
    }

    /// Starts a browser that runs no scripts of pages.
    pub async fn without_scripts(site: &Site) -> Self {
        let blocked = 2;
        Self::with(
            site,
            json!({"profile.managed_default_content_settings.javascript": blocked}),
        )
        .await
    }

    async fn with(site: &Site, prefs: Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let (driver, address) = driver(path).await;
        let options = json!({
            "binary": given("CHROMIUM"),
            "prefs": prefs,
            "args": [
                "--headless=new",
                // A build server runs this as root, in a container.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                // Names below `test` are this machine. Requests to other hosts fail, on every machine alike.
                "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
            ],
        });
        Self {
            client: WebDriver::open(&address, options).await,
            wrong: Mutex::default(),
            base: site.base.clone(),
            driver,
            _home: home,
        }
    }

    /// Starts a browser and signs the user in.
    pub async fn signed_in(site: &Site, username: &str) -> Self {
        let browser = Self::start(site).await;
        browser.open("/login").await;
        browser.sign_in(username).await;
        browser.sees("Your account").await;
        browser
    }

    /// Signs in at the sign-in page, which must be open.
    pub async fn sign_in(&self, username: &str) {
        self.sees("Sign in").await;
        self.fill("Username", username).await;
        self.fill("Password", PASSWORD).await;
        self.press("Sign in").await;
    }

    /// Opens a path of the site or an address.
    pub async fn open(&self, place: &str) {
        let address = if place.starts_with('/') {
            format!("{}{place}", self.base)
        } else {
            place.to_owned()
        };
        self.client.goto(&address).await.unwrap();
    }

    /// Returns the current address.
    pub async fn address(&self) -> Url {
        self.client.address().await.unwrap().parse().unwrap()
    }

    /// Waits until the address begins with `start`.
    pub async fn arrives(&self, start: &str) -> Url {
        wait_until(&format!("the browser at {start}"), PATIENCE, async || {
            let address = self.client.address().await.ok()?;
            address.starts_with(start).then(|| address.parse().unwrap())
        })
        .await
    }

    /// Waits for the page with this main heading.
    pub async fn sees(&self, heading: &str) {
        let seen = wait_until(heading, 2 * PATIENCE, async || {
            let h1 = self.client.find("//h1").await.ok()?;
            (self.client.text(&h1).await.ok()? == heading).then_some(())
        });
        if tokio::time::timeout(PATIENCE, seen).await.is_err() {
            let (address, text) = (self.address().await, self.text().await);
            panic!("no page {heading:?}; at {address} is:\n{text}");
        }
    }

    /// Waits until these words are visible. Use it where the previous page has the same heading, and after a file is sent,
    /// which the browser reads before it goes anywhere.
    pub async fn reads(&self, words: &str) {
        let read = wait_until(words, 2 * PATIENCE, async || {
            self.text().await.contains(words).then_some(())
        });
        if tokio::time::timeout(PATIENCE, read).await.is_err() {
            let (address, text) = (self.address().await, self.text().await);
            panic!("nowhere {words:?}; at {address} is:\n{text}");
        }
    }

    /// Returns the visible text.
    pub async fn text(&self) -> String {
        match self.client.find("//body").await {
            Ok(body) => self.client.text(&body).await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Returns the field with this label.
    pub async fn field(&self, label: &str) -> Element {
        let path = format!("//label[starts-with(normalize-space(), '{label}')]");
        let label = self.find(&path).await;
        let id = self.client.attribute(&label, "for").await.unwrap();
        self.find(&format!("//*[@id='{id}']")).await
    }

    /// Types into the field with this label.
    pub async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        self.client.clear(&field).await.unwrap();
        self.client.type_into(&field, text).await.unwrap();
    }

    /// Chooses a file for the field with this label.
    pub async fn choose_file(&self, label: &str, file: &Path) {
        let field = self.field(label).await;
        let file = file.to_str().unwrap();
        self.client.type_into(&field, file).await.unwrap();
    }

    /// Presses the button of this name.
    pub async fn press(&self, name: &str) {
        let path = format!("//button[normalize-space()='{name}' or @aria-label='{name}']");
        let found = self.find(&path).await;
        self.client.click(&found).await.unwrap();
    }

    /// Follows the link of this name.
    pub async fn follow(&self, name: &str) {
        let path = format!("//a[normalize-space()='{name}' or @aria-label='{name}']");
        let found = self.find(&path).await;
        self.client.click(&found).await.unwrap();
    }

    /// Presses keys, wherever the focus is.
    pub async fn keys(&self, keys: &str) {
        let focused = self.client.focused().await.unwrap();
        self.client.type_into(&focused, keys).await.unwrap();
    }

    async fn find(&self, path: &str) -> Element {
        match self.client.find(path).await {
            Ok(element) => element,
            Err(error) => panic!("{path}: {error:?}\n{}", self.text().await),
        }
    }

    /// Waits for a window besides this one, such as a popup.
    pub async fn other_window(&self, window: &str) -> String {
        wait_until("another window", PATIENCE, async || {
            let windows = self.client.windows().await.ok()?;
            windows.into_iter().find(|other| other != window)
        })
        .await
    }

    /// Runs a script in the page; returns its result.
    pub async fn script(&self, script: &str, args: &[Value]) -> Value {
        self.client.script(script, args).await.unwrap()
    }

    /// Closes the browser; panics if a page that was looked at had a problem.
    pub async fn close(mut self) {
        self.client.close().await.unwrap();
        self.driver.terminate();
        let wrong = self.wrong.into_inner().unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

pub fn given(tool: &str) -> String {
    let name = format!("HOLDFAST_E2E_{tool}");
    setting(&name).unwrap_or_else(|| panic!("{name} is not set: `cargo xtask e2e` sets it"))
}
