//! A user who signs in, consents and comes back with the forms of the pages, without a browser.

use std::collections::BTreeMap;

use test_kit::{ApiClient, ApiRequest, ApiResponse};
use url::Url;
use url::form_urlencoded::Serializer;

use crate::html_parser::elements;
use crate::site::{PASSWORD, Site};

/// More redirects than any sign-in has.
const MAX_REDIRECTS: usize = 20;

/// A visitor with a cookie jar.
pub struct Person<'a> {
    site: &'a Site,
    /// The cookies of each host, whose ports share them.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

/// What a visitor sees in the end, and where.
#[derive(Debug)]
pub struct Page {
    pub url: Url,
    pub reply: ApiResponse,
}

impl<'a> Person<'a> {
    /// Signs in with the form of the sign-in page.
    pub async fn signed_in(site: &'a Site, username: &str) -> Self {
        let mut person = Self {
            site,
            cookies: BTreeMap::new(),
        };
        let page = person.visit(&format!("{}/login", site.base)).await;
        let filled = [("username", username), ("password", PASSWORD)];
        person.submit(&page, "/login", &filled).await;
        let cookies: Vec<_> = person.cookies.values().flat_map(BTreeMap::keys).collect();
        assert!(
            cookies.iter().any(|name| name.ends_with("holdfast_id")),
            "signed in: {cookies:?}"
        );
        person
    }

    /// Signs out with the button of the account page.
    pub async fn sign_out(&mut self) {
        let account = self.url("/account");
        let page = self.visit(account.as_str()).await;
        let page = self.submit(&page, "/logout", &[]).await;
        page.reply.expect(200);
    }

    /// Opens the address to which a client sends its user, allows what it asks for, and follows the redirect to the client.
    pub async fn allow(&mut self, address: &str) {
        let page = self.visit(address).await;
        assert_ne!(page.url.origin(), self.url("/").origin(), "{page:?}");
        page.reply.expect(200);
    }

    /// Enters the code that a device shows, and allows what the device asks for.
    pub async fn allow_device(&mut self, address: &str, code: &str) {
        let page = self.visit(address).await;
        let page = self.submit(&page, "/device", &[("user_code", code)]).await;
        let form = page.form("/device").unwrap();
        assert!(
            form.fields.iter().any(|(name, _)| name == "user_code"),
            "{}",
            page.reply.text()
        );
        let done = self
            .submit(&page, "/device", &[("decision", "allow")])
            .await;
        done.reply.expect(200);
    }

    /// Opens an address, and goes where redirects lead. Allows what a client asks for, and sends forms that a script would send.
    pub async fn visit(&mut self, address: &str) -> Page {
        let url = Url::parse(address).unwrap();
        let call = self.client_of(&url).get(&path_of(&url));
        self.arrive(url, call).await
    }

    /// Fills in the form of a page that leads to this path, submits it, and arrives like [`Self::visit`].
    pub async fn submit(&mut self, page: &Page, path: &str, filled: &[(&str, &str)]) -> Page {
        let form = page.form(path);
        let form = form.unwrap_or_else(|| panic!("no form to {path}: {}", page.reply.text()));
        let (url, call) = self.post(form.filled(filled));
        self.arrive(url, call).await
    }

    /// Sends a form that a script of the application would make, and arrives like [`Self::visit`].
    pub async fn send_form(&mut self, address: &str, fields: &[(&str, &str)]) -> Page {
        let form = Form {
            action: Url::parse(address).unwrap(),
            fields: Vec::new(),
        };
        let (url, call) = self.post(form.filled(fields));
        self.arrive(url, call).await
    }

    async fn arrive(&mut self, mut url: Url, call: ApiRequest) -> Page {
        let mut reply = self.send(&url, call).await;
        for _ in 0..MAX_REDIRECTS {
            let (next, call) = if (300..400).contains(&reply.status) {
                let next = url.join(reply.header("location")).unwrap();
                let call = self.client_of(&next).get(&path_of(&next));
                (next, call)
            } else {
                let page = Page { url, reply };
                let Some(form) = self.form_of_sign_in(&page) else {
                    return page;
                };
                self.post(form)
            };
            reply = self.send(&next, call).await;
            url = next;
        }
        panic!("redirected without end: {url}")
    }

    /// Returns the form that leads on to the client.
    fn form_of_sign_in(&self, page: &Page) -> Option<Form> {
        if page.url.origin() != self.url("/").origin() {
            return None;
        }
        if let Some(form) = page.form("/consent") {
            return Some(form.filled(&[("decision", "allow")]));
        }
        // The response mode `form_post`.
        let mut forms = page.forms().into_iter();
        forms.find(|form| form.action.origin() != page.url.origin())
    }

    fn post(&self, form: Form) -> (Url, ApiRequest) {
        let body = Serializer::new(String::new())
            .extend_pairs(form.fields)
            .finish();
        let call = self.client_of(&form.action).post(&path_of(&form.action));
        let call = call.body("application/x-www-form-urlencoded", body);
        (form.action, call)
    }

    async fn send(&mut self, url: &Url, call: ApiRequest) -> ApiResponse {
        let jar = self
            .cookies
            .entry(url.host_str().unwrap().to_owned())
            .or_default();
        let cookies = jar.iter().map(|(name, value)| format!("{name}={value}"));
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
            jar.insert(name.to_owned(), value.to_owned());
        }
        reply
    }

    /// Returns the client of the server at this address: of Holdfast, or of an application.
    fn client_of(&self, url: &Url) -> ApiClient {
        if url.origin() == self.url("/").origin() {
            return self.site.api.clone();
        }
        ApiClient::new(url.origin().ascii_serialization())
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&self.site.base).unwrap().join(path).unwrap()
    }
}

/// A form of a page, with its fields as the page fills them.
#[derive(Debug)]
pub struct Form {
    action: Url,
    fields: Vec<(String, String)>,
}

impl Form {
    fn filled(mut self, filled: &[(&str, &str)]) -> Self {
        for (name, value) in filled {
            self.fields.retain(|(known, _)| known != name);
            self.fields.push(((*name).to_owned(), (*value).to_owned()));
        }
        self
    }
}

impl Page {
    /// Checks that the page contains this text.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let page = self.reply.text();
        assert!(page.contains(text), "no {text:?} at {}: {page}", self.url);
    }

    /// Returns a parameter of the page's address.
    #[track_caller]
    pub fn parameter(&self, name: &str) -> String {
        let mut pairs = self.url.query_pairs();
        let pair = pairs.find(|(known, _)| known == name);
        pair.unwrap_or_else(|| panic!("no {name} in {}", self.url))
            .1
            .into_owned()
    }

    fn form(&self, path: &str) -> Option<Form> {
        let mut forms = self.forms().into_iter();
        forms.find(|form| form.action.path() == path)
    }

    fn forms(&self) -> Vec<Form> {
        let mut forms: Vec<Form> = Vec::new();
        for element in elements(&self.reply.text(), &["form", "input"]) {
            let value = |name| element.attribute(name).unwrap_or_default().to_owned();
            match (element.name.as_str(), forms.last_mut()) {
                ("form", _) => forms.push(Form {
                    action: self.url.join(&value("action")).unwrap(),
                    fields: Vec::new(),
                }),
                (_, Some(form)) if element.has("name") => {
                    form.fields.push((value("name"), value("value")));
                }
                _ => {}
            }
        }
        forms
    }
}

fn path_of(url: &Url) -> String {
    url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
}
