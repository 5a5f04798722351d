//! How pages show names, input, addresses and long lists.

use actix_web::http::StatusCode;
use messages::{Text, t};
use service_kit::Problem;
use url::form_urlencoded;

/// Returns the letter that stands for an account without a photo.
#[must_use]
pub fn initial(username: &str) -> char {
    let first = username.chars().next();
    first.map_or('?', |c| c.to_ascii_uppercase())
}

/// Links to the previous and the next page of a long list.
#[derive(Debug, Default)]
pub struct Pager {
    /// None on the first page.
    pub previous: Option<String>,
    /// None on the last page.
    pub next: Option<String>,
}

impl Pager {
    /// Creates the links of a list that is paged by offset.
    #[must_use]
    pub fn by_offset(path: &str, offset: i64, page: i64, total: i64) -> Self {
        let link = |offset: i64| with_query(path, &[("offset", &offset.to_string())]);
        Self {
            previous: (offset > 0).then(|| link((offset - page).max(0))),
            next: Some(offset.saturating_add(page))
                .filter(|next| *next < total)
                .map(link),
        }
    }

    /// Whether the list has more than this page.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.previous.is_some() || self.next.is_some()
    }
}

/// Returns a path with a query; empty values are left out.
#[must_use]
pub fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Formats a wait as people say it.
pub fn wait(seconds: u64) -> Text {
    match (seconds, seconds.div_ceil(60), seconds.div_ceil(3_600)) {
        (0..=90, ..) => t("common-seconds").with("count", seconds),
        (91..=7_200, minutes, _) => t("common-minutes").with("count", minutes),
        (_, _, hours) => t("common-hours").with("count", hours),
    }
}

/// Returns the heading of an error page, and what to do next; `start` names the page from which to begin again.
pub fn in_words(problem: &Problem, start: &Text) -> (Text, Text) {
    match (problem.status, problem.retry_after) {
        (StatusCode::NOT_FOUND, _) => (
            t("common-not-found"),
            t("common-not-found-next").with("start", start),
        ),
        (StatusCode::TOO_MANY_REQUESTS, seconds) => (
            t("common-rate-limited"),
            t("common-rate-limited-next").with("wait", wait(seconds.unwrap_or(1))),
        ),
        (status, _) if status.is_server_error() => {
            (t("common-failed"), t("common-server-error-next"))
        }
        _ => (t("common-failed"), t("common-rejected-next")),
    }
}

/// Returns the input without surrounding spaces, or none if it is empty: forms send an empty text for an omitted field.
#[must_use]
pub fn given(text: String) -> Option<String> {
    Some(text.trim())
        .filter(|text| !text.is_empty())
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            [1, 90, 91, 86_000].map(|seconds| wait(seconds).to_string()),
            ["1 second", "90 seconds", "2 minutes", "24 hours"]
        );
        assert_eq!(with_query("/a", &[("q", "x&y"), ("z", "")]), "/a?q=x%26y");
    }
}
