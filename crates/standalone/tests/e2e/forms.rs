//! A user who signs in and consents with the forms of the pages, without a browser.

use std::collections::BTreeMap;

use test_kit::{ApiClient, ApiRequest, ApiResponse};
use url::form_urlencoded::Serializer;

use crate::html_parser::elements;
use crate::site::{PASSWORD, Site};

/// A visitor with a cookie jar.
pub struct Person<'a> {
    site: &'a Site,
    cookies: BTreeMap<String, String>,
}

impl<'a> Person<'a> {
    /// Signs in with the form of the sign-in page.
    pub async fn signed_in(site: &'a Site, username: &str) -> Self {
        let mut person = Self {
            site,
            cookies: BTreeMap::new(),
        };
        let page = person.send(site.api.get("/login")).await.expect(200);
        let filled = [("username", username), ("password", PASSWORD)];
        person.submit("/login", &page, &filled).await;
        assert!(
            person
                .cookies
                .keys()
                .any(|name| name.ends_with("holdfast_id")),
            "signed in: {:?}",
            person.cookies.keys()
        );
        person
    }

    /// Opens the address to which a client sends its user, allows what it asks for, and follows the redirect to the client.
    pub async fn allow(&mut self, address: &str) {
        let path = address.strip_prefix(&self.site.base).unwrap();
        let mut reply = self.send(self.site.api.get(path)).await;
        if let Some(page) = self.own(&reply) {
            reply = self.send(self.site.api.get(&page)).await;
        }
        if let Some(form) = form_to(&reply, "/consent") {
            reply = self.post("/consent", form, &[("decision", "allow")]).await;
        }
        let client =
            leads_to(&reply).unwrap_or_else(|| panic!("{}: {}", reply.status, reply.text()));
        ApiClient::new(client).get("").send().await.expect(200);
    }

    /// Enters the code that a device shows, and allows what the device asks for.
    pub async fn allow_device(&mut self, address: &str, code: &str) {
        let path = address.strip_prefix(&self.site.base).unwrap().to_owned();
        let page = self.send(self.site.api.get(&path)).await.expect(200);
        let page = self.submit("/device", &page, &[("user_code", code)]).await;
        let form = form_to(&page, "/device").unwrap();
        assert!(
            form.iter().any(|(name, _)| name == "user_code"),
            "{}",
            page.text()
        );
        let done = self.post("/device", form, &[("decision", "allow")]).await;
        assert!(matches!(done.status, 200 | 303), "{}", done.text());
    }

    async fn submit(
        &mut self,
        action: &str,
        page: &ApiResponse,
        filled: &[(&str, &str)],
    ) -> ApiResponse {
        let form = form_to(page, action).unwrap_or_else(|| panic!("no form: {}", page.text()));
        self.post(action, form, filled).await
    }

    async fn post(
        &mut self,
        action: &str,
        hidden: Vec<(String, String)>,
        filled: &[(&str, &str)],
    ) -> ApiResponse {
        let named = |name: &str| filled.iter().any(|(filled, _)| *filled == name);
        let kept = hidden.into_iter().filter(|(name, _)| !named(name));
        let body = Serializer::new(String::new())
            .extend_pairs(kept)
            .extend_pairs(filled)
            .finish();
        let call = self.site.api.post(action);
        self.send(call.body("application/x-www-form-urlencoded", body))
            .await
    }

    async fn send(&mut self, call: ApiRequest) -> ApiResponse {
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let call = if cookies.is_empty() {
            call
        } else {
            call.header("cookie", cookies)
        };
        let reply = call.header("accept", "text/html").send().await;
        for cookie in reply.headers.get_all("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        reply
    }

    /// Returns the path if the reply redirects to a page of the site.
    fn own(&self, reply: &ApiResponse) -> Option<String> {
        let target = leads_to(reply)?;
        let path = target.strip_prefix(&self.site.base).unwrap_or(&target);
        path.starts_with('/').then(|| path.to_owned())
    }
}

/// Returns where a redirect leads.
fn leads_to(reply: &ApiResponse) -> Option<String> {
    let is_redirect = (300..400).contains(&reply.status);
    is_redirect.then(|| reply.header("location").to_owned())
}

/// Returns the inputs of the form with this action.
fn form_to(reply: &ApiResponse, action: &str) -> Option<Vec<(String, String)>> {
    let mut fields = None;
    for element in elements(&reply.text(), &["form", "input", "/form"]) {
        match (element.name.as_str(), &mut fields) {
            ("form", None) if element.attribute("action") == Some(action) => {
                fields = Some(Vec::new());
            }
            ("input", Some(fields)) => {
                let name = element.attribute("name").unwrap().to_owned();
                fields.push((name, element.attribute("value").unwrap_or("").to_owned()));
            }
            ("/form", Some(_)) => break,
            _ => {}
        }
    }
    fields
}
