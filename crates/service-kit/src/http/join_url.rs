use url::{ParseError, Url};

/// Returns the URL of `path` at a service whose own address may have a path, which [`Url::join`] would drop.
///
/// # Errors
/// When the two form no URL.
pub fn join_url(base: &Url, path: &str) -> Result<Url, ParseError> {
    Url::parse(&format!("{}{path}", base.as_str().trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_service_stays_before_the_path_of_what_is_called() {
        for (base, address) in [
            ("http://identity:8080", "http://identity:8080/api/x"),
            ("http://identity:8080/", "http://identity:8080/api/x"),
            ("https://a.example/auth", "https://a.example/auth/api/x"),
            ("https://a.example/auth/", "https://a.example/auth/api/x"),
        ] {
            let found = base.parse().and_then(|base| join_url(&base, "/api/x"));
            assert_eq!(found.map(String::from).as_deref(), Ok(address));
        }
    }
}
