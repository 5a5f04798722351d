//! A browser without JavaScript: it stores cookies, parses and submits the forms of pages, and follows redirects within the site.

use std::collections::BTreeMap;

use test_kit::{ApiClient, ApiRequest, ApiResponse};
use url::form_urlencoded::Serializer;

use crate::html_parser::{Element, decode, elements, text_of};
use crate::support::{Identity, PASSWORD};

/// The boundary between the parts of a form with files.
const BOUNDARY: &str = "----a-boundary-that-no-test-writes";

/// A browser with its cookies.
#[derive(Clone)]
pub(crate) struct Browser {
    api: ApiClient,
    /// The site's public address.
    base: String,
    pub(crate) cookies: BTreeMap<String, String>,
}

/// A page that the browser shows.
pub(crate) struct Page {
    pub(crate) reply: ApiResponse,
    /// The path of the page, with its query.
    pub(crate) path: String,
    /// The target of a redirect that was not followed, for example to another site.
    pub(crate) leads_to: Option<String>,
    pub(crate) html: String,
}

/// A form of a page, with the input so far.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) method: String,
    pub(crate) action: String,
    is_multipart: bool,
    pub(crate) fields: Vec<(String, String)>,
    files: Vec<File>,
    /// The fields by name, with the value that each choice offers.
    known: Vec<(String, Option<String>)>,
}

#[derive(Clone, Debug)]
struct File {
    field: String,
    name: String,
    media_type: String,
    bytes: Vec<u8>,
}

impl Browser {
    pub(crate) fn new(identity: &Identity) -> Self {
        Self {
            api: identity.api.clone(),
            base: identity.running.base_url().to_owned(),
            cookies: BTreeMap::new(),
        }
    }

    /// Returns a browser that reaches the service at another address than the public one.
    pub(crate) fn behind_proxy(identity: &Identity) -> Self {
        let inside = format!("http://{}", identity.running.addr());
        Self {
            api: ApiClient::new(inside),
            ..Self::new(identity)
        }
    }

    /// Returns a browser in which this account has signed in by the form.
    pub(crate) async fn signed_in(identity: &Identity, username: &str) -> Self {
        let mut browser = Self::new(identity);
        let page = browser.sign_in(username, PASSWORD).await;
        assert_eq!((page.path.as_str(), page.leads_to), ("/account", None));
        browser
    }

    /// Signs in by the form, and follows redirects within the site.
    pub(crate) async fn sign_in(&mut self, username: &str, password: &str) -> Page {
        let form = self.get("/login").await.form("/login");
        let form = form.set("username", username).set("password", password);
        self.submit(form).await
    }

    /// Opens a typed address, and follows redirects within the site.
    pub(crate) async fn get(&mut self, path: &str) -> Page {
        let page = self.fetch(path).await;
        self.follow(page).await
    }

    /// Opens an address without following redirects.
    pub(crate) async fn fetch(&mut self, path: &str) -> Page {
        let call = self.api.get(path).header("sec-fetch-site", "none");
        self.send(call, path).await
    }

    /// Submits a form, and follows redirects within the site.
    pub(crate) async fn submit(&mut self, form: Form) -> Page {
        let page = self.post(form).await;
        self.follow(page).await
    }

    /// Submits a form without following redirects.
    pub(crate) async fn post(&mut self, form: Form) -> Page {
        self.post_from("same-origin", form).await
    }

    /// Submits a form with this value of `Sec-Fetch-Site`.
    pub(crate) async fn post_from(&mut self, site: &str, form: Form) -> Page {
        assert_eq!(form.method, "post", "{form:?}");
        let (content_type, body) = form.encode();
        let call = self.api.post(&form.action).body(&content_type, body);
        let call = call.header("sec-fetch-site", site);
        self.send(call, &form.action).await
    }

    async fn send(&mut self, call: ApiRequest, path: &str) -> Page {
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        let call = match cookies.is_empty() {
            true => call,
            false => call.header("cookie", cookies.join("; ")),
        };
        let reply = call.header("accept", "text/html").send().await;
        for cookie in reply.headers.get_all("set-cookie") {
            self.keep(cookie.to_str().unwrap());
        }
        Page::read(reply, path)
    }

    fn keep(&mut self, cookie: &str) {
        let (pair, attributes) = cookie.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        if attributes.contains("Max-Age=0") {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }

    async fn follow(&mut self, mut page: Page) -> Page {
        for _ in 0..10 {
            let Some(path) = page.leads_to.as_deref().and_then(|to| self.own_path(to)) else {
                return page;
            };
            let call = self.api.get(&path).header("sec-fetch-site", "same-origin");
            page = self.send(call, &path).await;
        }
        panic!("{} redirects in a circle", page.path);
    }

    /// Returns the path of an address of this site.
    fn own_path(&self, address: &str) -> Option<String> {
        let path = match address.strip_prefix(&self.base) {
            Some("") => "/",
            Some(path) => path,
            None => address,
        };
        let is_path = path.starts_with('/') && !path.starts_with("//");
        is_path.then(|| path.to_owned())
    }
}

impl Page {
    fn read(reply: ApiResponse, path: &str) -> Self {
        let html = reply.text();
        let is_redirect = (300..400).contains(&reply.status);
        let leads_to = is_redirect.then(|| reply.header("location").to_owned());
        Self {
            path: path.to_owned(),
            leads_to,
            html,
            reply,
        }
    }

    /// Checks the status; a failure shows the page.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        let text = self.text();
        assert_eq!(self.reply.status, status, "{}: {text}", self.reply.call);
        self
    }

    /// Returns the text of the page, in one line.
    pub(crate) fn text(&self) -> String {
        text_of(&self.html)
    }

    /// Checks that the text contains these words.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        let text = self.text();
        assert!(text.contains(words), "{}: {text}", self.reply.call);
        self
    }

    /// Returns the cookies that the page sets, with their attributes.
    pub(crate) fn set_cookies(&self) -> Vec<&str> {
        let cookies = self.reply.headers.get_all("set-cookie").iter();
        cookies.map(|cookie| cookie.to_str().unwrap()).collect()
    }

    /// Returns the targets of the links.
    pub(crate) fn links(&self) -> Vec<String> {
        let links = elements(&self.html, &["a"]).into_iter();
        links
            .filter_map(|link| link.attribute("href").map(str::to_owned))
            .collect()
    }

    /// Returns the forms that are sent to this address.
    pub(crate) fn forms(&self, action: &str) -> Vec<Form> {
        let mut forms = Form::all(&self.html, &self.path);
        forms.retain(|form| form.action == action);
        forms
    }

    /// Returns the only form that is sent to this address.
    #[track_caller]
    pub(crate) fn form(&self, action: &str) -> Form {
        let mut forms = self.forms(action);
        let text = self.text();
        assert_eq!(forms.len(), 1, "{}: forms to {action}: {text}", self.path);
        forms.remove(0)
    }
}

impl Form {
    /// Parses the forms of a page at `path`.
    pub(crate) fn all(html: &str, path: &str) -> Vec<Self> {
        let mut forms: Vec<Self> = Vec::new();
        let mut select = String::new();
        let parts = [
            "form", "input", "textarea", "select", "option", "button", "/form",
        ];
        let mut is_open = false;
        for element in elements(html, &parts) {
            match element.name.as_str() {
                "form" => {
                    forms.push(Self::begin(&element, path));
                    is_open = true;
                }
                "/form" => is_open = false,
                "select" => select = element.attribute("name").unwrap().to_owned(),
                _ if !is_open => {}
                _ => forms.last_mut().unwrap().add(&element, &select),
            }
        }
        forms
    }

    fn begin(element: &Element, path: &str) -> Self {
        Self {
            method: element.attribute("method").unwrap_or("get").to_lowercase(),
            action: element.attribute("action").unwrap_or(path).to_owned(),
            is_multipart: element.attribute("enctype") == Some("multipart/form-data"),
            fields: Vec::new(),
            files: Vec::new(),
            known: Vec::new(),
        }
    }

    fn add(&mut self, element: &Element, select: &str) {
        let kind = element.attribute("type").unwrap_or("text");
        let name = match element.name.as_str() {
            "option" => Some(select),
            _ => element.attribute("name"),
        };
        let Some(name) = name.map(str::to_owned) else {
            return;
        };
        let value = element.attribute("value").map(str::to_owned);
        let (choice, is_sent) = match (element.name.as_str(), kind) {
            ("button", _) => (value.clone(), false),
            ("option", _) => {
                let first = !self.fields.iter().any(|(known, _)| *known == name);
                let selected = element.has("selected");
                if selected {
                    self.fields.retain(|(known, _)| *known != name);
                }
                (value.clone(), first || selected)
            }
            (_, "checkbox" | "radio") => (value.clone(), element.has("checked")),
            (_, "file") => (None, false),
            _ => (None, true),
        };
        let value = match element.name.as_str() {
            "textarea" => decode(element.text.strip_prefix('\n').unwrap_or(&element.text)),
            _ => value.unwrap_or_default(),
        };
        self.known.push((name.clone(), choice));
        if is_sent {
            self.fields.push((name, value));
        }
    }

    /// Fills in a field, or makes a choice that the page offers.
    #[track_caller]
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        let mut choices = self.known.iter().filter(|(known, _)| known == name);
        let offered = choices.any(|(_, choice)| choice.as_deref().is_none_or(|only| only == value));
        assert!(offered, "{name}={value:?} cannot be given: {self:?}");
        self.put(name, value);
        self
    }

    /// Clears a checkbox.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self
    }

    /// Sets a value that the page does not offer.
    pub(crate) fn forged(mut self, name: &str, value: &str) -> Self {
        self.put(name, value);
        self
    }

    /// Attaches a file.
    #[track_caller]
    pub(crate) fn file(mut self, field: &str, name: &str, media_type: &str, bytes: &[u8]) -> Self {
        let known = self.known.iter().any(|(known, _)| known == field);
        assert!(
            known && self.is_multipart,
            "{field} takes no file: {self:?}"
        );
        self.files.push(File {
            field: field.to_owned(),
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            bytes: bytes.to_vec(),
        });
        self
    }

    /// Returns the value of a field.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn put(&mut self, name: &str, value: &str) {
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, field)) => value.clone_into(field),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
    }

    fn encode(&self) -> (String, Vec<u8>) {
        if !self.is_multipart {
            let body = Serializer::new(String::new())
                .extend_pairs(&self.fields)
                .finish();
            return ("application/x-www-form-urlencoded".to_owned(), body.into());
        }
        let mut body = Vec::new();
        let mut part = |head: String, bytes: &[u8]| {
            let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        };
        for (name, value) in &self.fields {
            part(format!("name=\"{name}\""), value.as_bytes());
        }
        for file in &self.files {
            let (field, name, media_type) = (&file.field, &file.name, &file.media_type);
            let head =
                format!("name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: {media_type}");
            part(head, &file.bytes);
        }
        body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={BOUNDARY}"), body)
    }
}

#[test]
fn the_test_browser_submits_default_and_changed_fields_of_a_form() {
    let html = r#"<input name="outside"><form method="post" action="/there" enctype="multipart/form-data">
        <input type="hidden" name="csrf" value="a&#38;b"><input type="file" name="photo">
        <textarea name="bio">
1 &#60; 2</textarea><select name="role"><option value="member"><option value="admin" selected></select>
        <input type="checkbox" name="all" value="yes" checked><button name="do" value="save">Save</button></form>"#;
    let form = Form::all(html, "/here").remove(0);
    let form = form
        .set("do", "save")
        .file("photo", "a.png", "image/png", b"PNG");
    let sent = |form: &Form| String::from_utf8(form.encode().1).unwrap();
    for part in [
        "name=\"csrf\"\r\n\r\na&b\r\n",
        "name=\"bio\"\r\n\r\n1 < 2\r\n",
        "name=\"role\"\r\n\r\nadmin\r\n",
        "name=\"all\"\r\n\r\nyes\r\n",
        "name=\"do\"\r\n\r\nsave\r\n",
        "name=\"photo\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n",
    ] {
        assert!(sent(&form).contains(part), "{part:?}: {}", sent(&form));
    }
    assert!(!sent(&form).contains("outside"));
    let form = form
        .without("all")
        .set("role", "member")
        .forged("csrf", "x");
    assert_eq!((form.value("all"), form.value("csrf")), (None, Some("x")));
    assert_eq!(form.value("role"), Some("member"));
}
