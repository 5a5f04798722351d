//! A browser without scripts on both sites: it stores each site's cookies, follows redirects from one to the other, and
//! submits forms as they are on the page.

use std::collections::BTreeMap;

use test_kit::{ApiClient, ApiRequest, ApiResponse};
use url::Url;
use url::form_urlencoded::Serializer;

use crate::harness::{PASSWORD, System};
use crate::html_parser::{all_elements, decode, elements, text_of};

/// A browser. It stores cookies by host and not by port, so the cookie names of the two sites differ.
#[derive(Clone)]
pub struct Browser {
    /// The dashboard and the identity area.
    sites: [Site; 2],
    pub cookies: BTreeMap<String, String>,
}

/// A service and the proxy before it.
#[derive(Clone)]
struct Site {
    api: ApiClient,
    /// The public address, without a trailing slash.
    public: String,
    /// Whether a proxy strips the path of the public address.
    strips: bool,
}

/// A page, as it was received.
pub struct Page {
    pub reply: ApiResponse,
    pub address: Url,
    pub html: String,
}

/// A form of a page, with its values.
#[derive(Clone, Debug)]
pub struct Form {
    pub action: String,
    pub fields: Vec<(String, String)>,
}

impl Browser {
    pub fn new(system: &System) -> Self {
        let bases = [system.work.base(), system.identity.base()];
        Self::behind_proxy(system, bases, false)
    }

    /// Creates a browser that knows both sites by public addresses.
    pub fn behind_proxy(system: &System, bases: [&str; 2], strips: bool) -> Self {
        let site = |api: &ApiClient, public: &str| Site {
            api: api.clone(),
            public: public.to_owned(),
            strips,
        };
        let [work, identity] = bases;
        Self {
            sites: [site(&system.work, work), site(&system.identity, identity)],
            cookies: BTreeMap::new(),
        }
    }

    /// Creates a browser and signs the user in at the dashboard.
    pub async fn signed_in(system: &System, username: &str) -> Self {
        let mut browser = Self::new(system);
        let page = browser.sign_in(username).await;
        assert_eq!(page.address.path(), "/", "{}", page.text());
        browser
    }

    /// Signs in at the dashboard.
    pub async fn sign_in(&mut self, username: &str) -> Page {
        let page = self.get("/sign-in").await;
        let path = Url::parse(&self.sites[1].public).unwrap();
        let action = format!("{}/login", path.path().trim_end_matches('/'));
        let form = page.form(&action).set("username", username);
        self.submit(&page, form.set("password", PASSWORD)).await
    }

    /// Opens a path of the dashboard or an address, and follows redirects.
    pub async fn get(&mut self, place: &str) -> Page {
        let address = match place.starts_with('/') {
            true => format!("{}{place}", self.sites[0].public),
            false => place.to_owned(),
        };
        self.go(address.parse().unwrap()).await
    }

    /// Submits a form of a page, and follows redirects.
    pub async fn submit(&mut self, page: &Page, form: Form) -> Page {
        let reply = self.post(page, &form).await;
        match leads_to(&reply) {
            Some(target) => self.go(page.address.join(&target).unwrap()).await,
            None => Page::new(reply, page.address.join(&form.action).unwrap()),
        }
    }

    /// Submits a form without following redirects.
    pub async fn post(&mut self, page: &Page, form: &Form) -> ApiResponse {
        let address = page.address.join(&form.action).unwrap();
        let body = Serializer::new(String::new())
            .extend_pairs(&form.fields)
            .finish();
        let (api, path) = self.site(&address);
        let call = api.post(&path);
        let call = call.header("sec-fetch-site", "same-origin");
        self.send(call.body("application/x-www-form-urlencoded", body))
            .await
    }

    /// Fetches a path of the dashboard without following redirects.
    pub async fn fetch(&mut self, path: &str) -> ApiResponse {
        let call = self.sites[0].api.get(path);
        self.send(call.header("sec-fetch-site", "none")).await
    }

    async fn go(&mut self, mut address: Url) -> Page {
        for _ in 0..12 {
            let (api, path) = self.site(&address);
            let reply = self.send(api.get(&path)).await;
            match leads_to(&reply) {
                Some(target) => address = address.join(&target).unwrap(),
                None => return Page::new(reply, address),
            }
        }
        panic!("redirects in a circle at {address}");
    }

    /// Returns the site of an address, and the path there.
    fn site(&self, address: &Url) -> (ApiClient, String) {
        let rest = |site: &Site| {
            let rest = address.as_str().strip_prefix(&site.public)?;
            let is_path = rest.is_empty() || rest.starts_with(['/', '?']);
            is_path.then(|| rest.to_owned())
        };
        let mut sites = self.sites.iter();
        let found = sites.find_map(|site| Some((site, rest(site)?)));
        let (site, rest) = found.unwrap_or_else(|| panic!("{address} is nobody's"));
        let path = match site.strips {
            true if rest.starts_with('/') => rest,
            true => format!("/{rest}"),
            false => address[url::Position::BeforePath..url::Position::AfterQuery].to_owned(),
        };
        (site.api.clone(), path)
    }

    pub async fn send(&mut self, call: ApiRequest) -> ApiResponse {
        let cookies = self.cookies.iter().map(|(k, v)| format!("{k}={v}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let call = match cookies.is_empty() {
            true => call,
            false => call.header("cookie", cookies),
        };
        let reply = call.header("accept", "text/html").send().await;
        for cookie in reply.headers.get_all("set-cookie") {
            let (pair, attributes) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if attributes.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }
}

impl Page {
    fn new(reply: ApiResponse, address: Url) -> Self {
        Self {
            html: reply.text(),
            address,
            reply,
        }
    }

    /// Checks the status, and what must hold for every page.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        let text = self.text();
        assert_eq!(self.reply.status, status, "{}: {text}", self.reply.call);
        if self.reply.call.contains("/api/") {
            return self;
        }
        self.is_good();
        self
    }

    /// Checks what must hold for every page of the dashboard.
    #[track_caller]
    fn is_good(&self) {
        let (reply, call) = (&self.reply, &self.reply.call);
        let policy = reply.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none';"),
            "{call}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{call}: {policy}");
        for (header, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(reply.header(header), value, "{call}: {header}");
        }
        let all = all_elements(&self.html);
        let mut ids: Vec<&str> = Vec::new();
        for element in &all {
            for (name, value) in element.attributes() {
                assert!(!name.starts_with("on") && name != "style", "{call}: {name}");
                assert!(!value.starts_with("javascript:"), "{call}: {value}");
            }
            let has_source = element.has("src") && element.text.trim().is_empty();
            assert!(element.name != "script" || has_source, "{call}: inline");
            assert!(element.name != "style", "{call}: inline");
            if let Some(id) = element.attribute("id") {
                assert!(!ids.contains(&id), "{call}: {id} is there twice");
                ids.push(id);
            }
        }
        let labels = elements(&self.html, &["label"]);
        for field in elements(&self.html, &["input", "select", "textarea"]) {
            let id = field.attribute("id");
            let is_named = || labels.iter().any(|label| label.attribute("for") == id);
            assert!(
                field.attribute("type") == Some("hidden") || (id.is_some() && is_named()),
                "{call}: {field:?}"
            );
        }
        assert_eq!(elements(&self.html, &["h1"]).len(), 1, "{call}");
    }

    /// Returns the visible text, in one line.
    pub fn text(&self) -> String {
        text_of(&self.html)
    }

    pub fn title(&self) -> String {
        decode(&elements(&self.html, &["title"])[0].text)
    }

    /// Checks that the text contains these words.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        let text = self.text();
        assert!(
            text.contains(words),
            "{}: no {words:?} in {text}",
            self.address
        );
        self
    }

    /// Returns where the link of this name leads.
    #[track_caller]
    pub fn link(&self, name: &str) -> String {
        let links = elements(&self.html, &["a"]);
        let found = links.iter().find(|link| decode(link.text.trim()) == name);
        let found = found.unwrap_or_else(|| panic!("no link {name:?} in {}", self.text()));
        found.attribute("href").unwrap().to_owned()
    }

    /// Returns the form that posts to this path.
    #[track_caller]
    pub fn form(&self, action: &str) -> Form {
        let forms = forms(&self.html).into_iter();
        let mut forms: Vec<Form> = forms.filter(|form| form.action == action).collect();
        assert_eq!(forms.len(), 1, "forms to {action}: {}", self.text());
        forms.remove(0)
    }
}

impl Form {
    /// Fills in a field.
    #[track_caller]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        let field = self.fields.iter_mut().find(|(known, _)| known == name);
        value.clone_into(&mut field.unwrap_or_else(|| panic!("no field {name}")).1);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self
    }

    #[track_caller]
    pub fn value(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(known, _)| known == name);
        &field
            .unwrap_or_else(|| panic!("no field {name} in {:?}", self.fields))
            .1
    }
}

/// Returns where a redirect leads.
fn leads_to(reply: &ApiResponse) -> Option<String> {
    let is_redirect = (300..400).contains(&reply.status);
    is_redirect.then(|| reply.header("location").to_owned())
}

/// Returns the forms that are posted. Checkboxes count if they are checked.
fn forms(html: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let (mut is_open, mut select) = (false, None::<String>);
    let parts = [
        "form", "/form", "input", "textarea", "select", "/select", "option",
    ];
    for element in elements(html, &parts) {
        let name = element.attribute("name").map(str::to_owned);
        match element.name.as_str() {
            "form" => {
                is_open = element.attribute("method") == Some("post");
                let action = element.attribute("action").unwrap_or_default().to_owned();
                if is_open {
                    forms.push(Form {
                        action,
                        fields: Vec::new(),
                    });
                }
            }
            "/form" => is_open = false,
            _ if !is_open => {}
            "input" | "textarea" => {
                let is_box = matches!(element.attribute("type"), Some("checkbox" | "radio"));
                let Some(name) = name.filter(|_| !is_box || element.has("checked")) else {
                    continue;
                };
                let value = match element.name.as_str() {
                    "input" => element.attribute("value").unwrap_or_default().to_owned(),
                    _ => decode(element.text.strip_prefix('\n').unwrap_or(&element.text)),
                };
                forms.last_mut().unwrap().fields.push((name, value));
            }
            "select" => select = name,
            "/select" => select = None,
            _ => {
                let Some(name) = select.clone() else { continue };
                let text = decode(element.text.trim());
                let value = element.attribute("value").map_or(text, str::to_owned);
                let fields = &mut forms.last_mut().unwrap().fields;
                match fields.iter_mut().find(|(known, _)| *known == name) {
                    None => fields.push((name, value)),
                    Some(field) if element.has("selected") => field.1 = value,
                    Some(_) => {}
                }
            }
        }
    }
    forms
}
