//! Somebody with a browser: keeps cookies, goes where redirects lead, and signs in with the form.

use std::collections::BTreeMap;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::http::{Answer, Client};

/// More redirects lead in a circle.
const MOST_STEPS: usize = 12;

/// A browser without scripts, signed in.
pub(super) struct Visitor {
    cookies: BTreeMap<String, String>,
    /// One connection to each address.
    sites: BTreeMap<String, Client>,
}

impl Visitor {
    /// Signs in at the dashboard that is at this address.
    pub(super) fn sign_in(dashboard: &str, username: &str, password: &str) -> Result<Self> {
        let mut visitor = Self {
            cookies: BTreeMap::new(),
            sites: BTreeMap::new(),
        };
        let (at, page) = visitor.go(format!("{dashboard}/sign-in"))?;
        let mut fields = hidden(&page.body, "/login");
        fields.push(("username".to_owned(), username.to_owned()));
        fields.push(("password".to_owned(), password.to_owned()));
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        let (site, _) = split(&at);
        let answer = visitor.ask("POST", &format!("{site}/login"), &body.join("&"))?;
        let Some(next) = leads_to(&answer) else {
            return fail(format!("the sign-in answers {}", answer.status));
        };
        let (at, page) = visitor.go(absolute(site, &next))?;
        match at.strip_prefix(dashboard) {
            Some("/") if page.status == 200 => Ok(visitor),
            _ => fail(format!("the sign-in ends at {at} with {}", page.status)),
        }
    }

    /// Fetches an address and follows redirects; gives where that ended.
    fn go(&mut self, mut address: String) -> Result<(String, Answer)> {
        for _ in 0..MOST_STEPS {
            let answer = self.ask("GET", &address, "")?;
            match leads_to(&answer) {
                Some(next) => address = absolute(split(&address).0, &next),
                None => return Ok((address, answer)),
            }
        }
        fail(format!("redirects in a circle at {address}"))
    }

    /// Sends one request, with the cookies, and goes no further.
    pub(super) fn ask(&mut self, method: &str, address: &str, body: &str) -> Result<Answer> {
        let (site, path) = split(address);
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let headers = format!(
            "Content-Type: application/x-www-form-urlencoded\r\nAccept: text/html\r\nCookie: {cookies}\r\n"
        );
        let client = self.sites.entry(site.to_owned());
        let client = client.or_insert_with(|| Client::new(site, ""));
        let answer = client.ask(method, path, &headers, body)?;
        for cookie in answer.all("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(answer)
    }
}

/// `http://HOST:PORT`, and the path.
fn split(address: &str) -> (&str, &str) {
    let start = address.find("://").map_or(0, |at| at + 3);
    let path = address[start..]
        .find('/')
        .map_or(address.len(), |at| start + at);
    match address.split_at(path) {
        (site, "") => (site, "/"),
        both => both,
    }
}

fn absolute(site: &str, target: &str) -> String {
    match target.starts_with('/') {
        true => format!("{site}{target}"),
        false => target.to_owned(),
    }
}

/// Where a redirect leads, or a page that leads on.
fn leads_to(answer: &Answer) -> Option<String> {
    if (300..400).contains(&answer.status) {
        return answer.all("location").next().map(str::to_owned);
    }
    let (_, rest) = answer.body.split_once("content=\"0;url=")?;
    rest.split('"').next().map(decode)
}

/// The hidden fields of the form that sends to this path.
fn hidden(html: &str, action: &str) -> Vec<(String, String)> {
    let form = html
        .split("<form ")
        .find(|form| form.contains(&format!("action=\"{action}\"")));
    let form = form
        .unwrap_or_default()
        .split("</form>")
        .next()
        .unwrap_or_default();
    let inputs = form.split("<input ").skip(1);
    let inputs = inputs.filter_map(|input| input.split('>').next());
    let hidden = inputs.filter(|input| attribute(input, "type") == Some("hidden"));
    hidden
        .filter_map(|input| {
            let name = attribute(input, "name")?.to_owned();
            Some((name, decode(attribute(input, "value").unwrap_or_default())))
        })
        .collect()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

/// Text of a page, as it was before it was escaped.
fn decode(text: &str) -> String {
    [
        ("&#38;", "&"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
    ]
    .iter()
    .fold(text.replace("&amp;", "&"), |text, (escaped, character)| {
        text.replace(escaped, character)
    })
}

/// A name or a value of a form.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forms_hidden_fields_are_read_and_sent() {
        let html = "<form action=\"/other\"><input type=\"hidden\" name=\"x\" value=\"1\"></form>\
            <form method=\"post\" action=\"/login\"><input type=\"hidden\" name=\"return_to\" value=\"/a?b=1&#38;c=2\">\
            <input name=\"username\"></form><input type=\"hidden\" name=\"y\" value=\"2\">";
        let fields = hidden(html, "/login");
        assert_eq!(fields, [("return_to".to_owned(), "/a?b=1&c=2".to_owned())]);
        assert_eq!(encode("/a?b=1&c=2"), "%2Fa%3Fb%3D1%26c%3D2");
    }

    #[test]
    fn an_address_is_a_site_and_a_path() {
        assert_eq!(split("http://a:1/b?c"), ("http://a:1", "/b?c"));
        assert_eq!(split("http://a:1"), ("http://a:1", "/"));
        assert_eq!(absolute("http://a:1", "/x"), "http://a:1/x");
        assert_eq!(absolute("http://a:1", "http://b:2/x"), "http://b:2/x");
    }
}
