//! The few WebDriver commands that these tests need. Libraries for it enable features of `url`, `serde` and `serde_json`
//! for the whole workspace; one of them even changes the order of JSON.

use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

/// After this time, a page counts as missing.
const HANG: Duration = Duration::from_secs(90);

/// A browser session, controlled by chromedriver.
pub struct WebDriver {
    client: Client,
    session: String,
}

/// An element of the current page.
pub struct Element(String);

/// An error of the driver.
#[derive(Debug)]
pub struct Refused(#[expect(dead_code, reason = "shown by the test that fails")] Value);

type Answer<T = Value> = Result<T, Refused>;

impl WebDriver {
    /// Opens a browser.
    pub async fn open(driver: &str, options: Value) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test calls only what it started"
        )]
        let client = Client::builder().no_proxy().timeout(HANG).build().unwrap();
        let wanted = json!({"goog:chromeOptions": options, "acceptInsecureCerts": true});
        let body = json!({"capabilities": {"alwaysMatch": wanted}});
        let sessions = format!("{driver}/session");
        let made = value(client.post(&sessions).json(&body)).await.unwrap();
        let session = format!("{sessions}/{}", made["sessionId"].as_str().unwrap());
        Self { client, session }
    }

    pub async fn goto(&self, address: &str) -> Answer {
        self.post("/url", json!({"url": address})).await
    }

    pub async fn address(&self) -> Answer<String> {
        self.get("/url").await
    }

    /// Returns the first element that an XPath matches.
    pub async fn find(&self, path: &str) -> Answer<Element> {
        let wanted = json!({"using": "xpath", "value": path});
        self.post("/element", wanted).await.map(element)
    }

    /// Returns the element that has the focus.
    pub async fn focused(&self) -> Answer<Element> {
        let found = value(self.client.get(self.url("/element/active")));
        found.await.map(element)
    }

    pub async fn text(&self, element: &Element) -> Answer<String> {
        self.get(&format!("/element/{}/text", element.0)).await
    }

    pub async fn attribute(&self, element: &Element, name: &str) -> Answer<String> {
        self.get(&format!("/element/{}/attribute/{name}", element.0))
            .await
    }

    pub async fn click(&self, element: &Element) -> Answer {
        let path = format!("/element/{}/click", element.0);
        self.post(&path, json!({})).await
    }

    pub async fn clear(&self, element: &Element) -> Answer {
        let path = format!("/element/{}/clear", element.0);
        self.post(&path, json!({})).await
    }

    /// Types text; in a file field, chooses the file at this path.
    pub async fn type_into(&self, element: &Element, text: &str) -> Answer {
        let path = format!("/element/{}/value", element.0);
        self.post(&path, json!({"text": text})).await
    }

    pub async fn script(&self, script: &str, args: &[Value]) -> Answer {
        self.post("/execute/sync", json!({"script": script, "args": args}))
            .await
    }

    /// Returns the window that commands go to.
    pub async fn window(&self) -> Answer<String> {
        self.get("/window").await
    }

    /// Returns all windows.
    pub async fn windows(&self) -> Answer<Vec<String>> {
        let found = value(self.client.get(self.url("/window/handles"))).await?;
        Ok(serde_json::from_value(found).unwrap())
    }

    pub async fn switch_to(&self, window: &str) -> Answer {
        self.post("/window", json!({"handle": window})).await
    }

    pub async fn cookies(&self) -> Answer {
        value(self.client.get(self.url("/cookie"))).await
    }

    /// Returns a screenshot as base64 of a PNG.
    pub async fn screenshot(&self) -> Answer<String> {
        self.get("/screenshot").await
    }

    /// Sends a command of Chromium's own protocol.
    pub async fn devtools(&self, command: &str, params: Value) -> Answer {
        self.post(
            "/goog/cdp/execute",
            json!({"cmd": command, "params": params}),
        )
        .await
    }

    pub async fn close(&self) -> Answer {
        value(self.client.delete(&self.session)).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        value(self.client.post(self.url(path)).json(&body)).await
    }

    async fn get(&self, path: &str) -> Answer<String> {
        let found = value(self.client.get(self.url(path))).await?;
        found.as_str().map(str::to_owned).ok_or(Refused(found))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.session)
    }
}

async fn value(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let is_good = response.status().is_success();
    let mut body: Value = response.json().await.unwrap();
    let value = body["value"].take();
    if is_good {
        Ok(value)
    } else {
        Err(Refused(value))
    }
}

/// Reads an element: an object with one member, whose name the standard chose for being unlikely.
fn element(found: Value) -> Element {
    let mut members = found.as_object().unwrap().values();
    Element(members.next().unwrap().as_str().unwrap().to_owned())
}
