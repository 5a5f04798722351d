//! How pages write moments, devices and long lists.

use chrono::{DateTime, Utc};
use url::form_urlencoded;

/// A moment, to the minute. The server does not know the reader's time zone, so it names its own.
pub(crate) fn moment(at: &DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M UTC").to_string()
}

/// A day.
pub(crate) fn day(at: &DateTime<Utc>) -> String {
    at.format("%-d %B %Y").to_string()
}

/// What a `User-Agent` says, in the words of who uses it: browsers name each other's engines, so the most
/// particular name is looked for first.
pub(crate) fn device(user_agent: Option<&str>) -> String {
    let Some(text) = user_agent else {
        return "Unknown device".to_owned();
    };
    let named = |table: &[(&str, &'static str)]| {
        let found = table.iter().find(|(mark, _)| text.contains(mark));
        found.map(|(_, name)| *name)
    };
    let system = named(&SYSTEMS);
    match (named(&BROWSERS), system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => text
            .split(['/', ' '])
            .next()
            .filter(|word| !word.is_empty())
            .map_or_else(|| "Unknown device".to_owned(), ToOwned::to_owned),
    }
}

const BROWSERS: [(&str, &str); 9] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

const SYSTEMS: [(&str, &str); 7] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// The letter that stands for somebody without a photo.
pub(crate) fn initial(username: &str) -> char {
    let first = username.chars().next();
    first.map_or('?', |c| c.to_ascii_uppercase())
}

/// Links to the pages before and after the one of a long list.
pub(crate) struct Pager {
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
}

impl Pager {
    /// Of a list that is cut by position.
    pub(crate) fn by_offset(path: &str, offset: i64, page: i64, total: i64) -> Self {
        let link = |offset: i64| with_query(path, &[("offset", &offset.to_string())]);
        Self {
            previous: (offset > 0).then(|| link((offset - page).max(0))),
            next: Some(offset.saturating_add(page))
                .filter(|next| *next < total)
                .map(link),
        }
    }

    /// Whether the list has more than this page.
    pub(crate) fn is_needed(&self) -> bool {
        self.previous.is_some() || self.next.is_some()
    }
}

/// A path with a query; empty values are left out.
pub(crate) fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// What was typed, or nothing: forms send empty text for what was left out.
pub(crate) fn given(text: String) -> Option<String> {
    Some(text.trim())
        .filter(|text| !text.is_empty())
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_as_its_user_calls_it() {
        for (agent, name) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            ("curl/8.5.0", "curl"),
            ("focus-desk 1.2 (Linux)", "focus-desk"),
            ("", "Unknown device"),
        ] {
            assert_eq!(device(Some(agent)), name, "{agent}");
        }
        assert_eq!(device(None), "Unknown device");
    }

    #[test]
    fn a_long_list_has_a_way_on_and_back() {
        let pager = Pager::by_offset("/account/sessions", 50, 50, 120);
        assert_eq!(
            pager.previous.as_deref(),
            Some("/account/sessions?offset=0")
        );
        assert_eq!(pager.next.as_deref(), Some("/account/sessions?offset=100"));
        let pager = Pager::by_offset("/account/sessions", 0, 50, 50);
        assert!(!pager.is_needed());
        assert_eq!(with_query("/a", &[("q", "x&y"), ("z", "")]), "/a?q=x%26y");
    }
}
