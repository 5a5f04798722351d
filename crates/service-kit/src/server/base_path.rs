//! A public address with a path, such as `https://example.com/auth`, behind proxies that remove the path and proxies that keep
//! it. Routes, links and redirects are written without it. This module removes it from requests and adds it to responses.

use std::borrow::Cow;
use std::sync::Arc;

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ResourceMap, ServiceRequest, ServiceResponse};
use actix_web::http::Uri;
use actix_web::http::header::{self, HeaderValue};
use url::Url;

/// The attributes in which pages have our own addresses. Text cannot match: templates escape its quotation marks.
const ATTRIBUTES: [&str; 5] = [
    " href=\"",
    " src=\"",
    " action=\"",
    " data-clock=\"",
    " data-path=\"",
];
/// Programs request discovery documents with this before the path of an issuer, too (RFC 8414 section 3).
const WELL_KNOWN: &str = "/.well-known/";

/// The path of a public address, without a trailing slash; empty if there is none.
#[derive(Debug, Clone)]
pub(crate) struct BasePath(Arc<str>);

impl BasePath {
    pub(crate) fn from_url(base_url: &str) -> Self {
        let url = Url::parse(base_url).ok();
        let path = url.as_ref().map_or("", Url::path);
        Self(path.trim_end_matches('/').into())
    }

    /// Whether there is no path, and so nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the path from a request before it is routed.
    pub(super) fn enter(&self, req: &mut ServiceRequest) {
        let uri = req.uri();
        let Some(inside) = self.inside(uri.path(), |path| req.resource_map().has_resource(path))
        else {
            return;
        };
        let text = match uri.query() {
            Some(query) => format!("{inside}?{query}"),
            None => inside.to_owned(),
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = text.parse().ok();
        if let Ok(uri) = Uri::from_parts(parts) {
            req.match_info_mut().get_mut().update(&uri);
            req.head_mut().uri = uri;
        }
    }

    /// Adds the path to the redirects and links of a response.
    pub(super) fn leave<B: MessageBody + 'static>(
        &self,
        mut response: ServiceResponse<EitherBody<B>>,
    ) -> ServiceResponse<EitherBody<B>> {
        let location = response.headers().get(header::LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        if let Some(path) = location.filter(|text| is_path(text)) {
            let outside = self.outside(path, response.request().resource_map());
            if let Ok(value) = HeaderValue::from_str(&outside) {
                response.headers_mut().insert(header::LOCATION, value);
            }
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        // Only Swagger UI's page is compressed, and its links are relative.
        if !is_page || response.headers().contains_key(header::CONTENT_ENCODING) {
            return response;
        }
        response.map_body(|_, body| match body.try_into_bytes() {
            Ok(page) => EitherBody::right(BoxBody::new(self.linked(&page))),
            Err(body) => body,
        })
    }

    /// Returns a path without the base path, or none if the base path is not part of it. A path that is a route as it stands has
    /// no base path, unless it is also a route without it.
    fn inside<'a>(&self, path: &'a str, is_route: impl Fn(&str) -> bool) -> Option<&'a str> {
        if let Some(known) = path.strip_suffix(&*self.0)
            && known.starts_with(WELL_KNOWN)
            && is_route(known)
        {
            return Some(known);
        }
        match path.strip_prefix(&*self.0)? {
            "" => (!is_route(path)).then_some("/"),
            rest if rest.starts_with('/') && (is_route(rest) || !is_route(path)) => Some(rest),
            _ => None,
        }
    }

    /// Returns a path as browsers see it. A path that has the base path already stays as it is.
    fn outside(&self, path: &str, routes: &ResourceMap) -> String {
        let (start, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
        let inside = self.inside(start, |path| routes.has_resource(path));
        format!("{}{}{query}", self.0, inside.unwrap_or(start))
    }

    /// Returns a page whose links, forms and files are below the base path.
    fn linked(&self, page: &[u8]) -> String {
        let mut page = String::from_utf8_lossy(page);
        for attribute in ATTRIBUTES {
            let (here, there) = (format!("{attribute}/"), format!("{attribute}{}/", self.0));
            page = Cow::Owned(page.replace(&here, &there));
        }
        page.into_owned()
    }
}

fn is_path(location: &str) -> bool {
    location.starts_with('/') && !location.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_away_where_a_proxy_has_left_it() {
        let routes = ["/", "/auth", "/login", "/auth/x", "/.well-known/jwks.json"];
        for (base, path, inside) in [
            ("https://a.example/id", "/id", Some("/")),
            ("https://a.example/id/", "/id/", Some("/")),
            ("https://a.example/id", "/id/login", Some("/login")),
            ("https://a.example/id", "/id/none", Some("/none")),
            ("https://a.example/id", "/login", None),
            ("https://a.example/id", "/idle", None),
            ("https://a.example/a/b", "/a/b/login", Some("/login")),
            ("https://a.example/a/b", "/a/login", None),
            // A base path that begins like our own routes.
            ("https://a.example/auth", "/auth/login", Some("/login")),
            ("https://a.example/auth", "/auth/auth/x", Some("/auth/x")),
            ("https://a.example/auth", "/auth/x", None),
            ("https://a.example/auth", "/auth", None),
            (
                "https://a.example/id",
                "/.well-known/jwks.json/id",
                Some("/.well-known/jwks.json"),
            ),
            ("https://a.example/id", "/.well-known/none/id", None),
        ] {
            let found = BasePath::from_url(base).inside(path, |path| routes.contains(&path));
            assert_eq!(found, inside, "{base} {path}");
        }
    }

    #[test]
    fn addresses_of_our_own_are_below_the_path_and_nothing_else_is() {
        let page = "<a href=\"/login\"><a href=\"#here\"><a href=\"https://b.example/\">\
            <form action=\"/x\"><input value=\"/x\"> href=&#34;/x&#34;";
        let linked = BasePath::from_url("https://a.example/id").linked(page.as_bytes());
        let expected = page
            .replace("f=\"/l", "f=\"/id/l")
            .replace("n=\"/", "n=\"/id/");
        assert_eq!(linked, expected);
    }
}
