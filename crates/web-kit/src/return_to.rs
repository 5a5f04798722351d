//! Where the browser goes after a sign-in: a path of this service and nothing else.

/// The maximum length of a path, enough for an authorization request with all its parameters.
const MAX_BYTES: usize = 4_096;
/// A path of this service, with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnTo(String);

impl ReturnTo {
    /// Parses the path in a link or form. A missing one, or one that could be read as the address of another site, becomes
    /// `home`.
    #[must_use]
    pub fn parse(text: Option<&str>, home: &'static str) -> Self {
        let path = text.filter(|text| is_path(text)).unwrap_or(home);
        Self(path.to_owned())
    }

    /// Returns the path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && c != '\\';
    text.len() <= MAX_BYTES
        && text.starts_with('/')
        && !text.starts_with("//")
        && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    const HOME: &str = "/account";

    #[test]
    fn what_leads_elsewhere_leads_home() {
        for bad in [
            "",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "account",
            "/ü",
            "/a b",
        ] {
            assert_eq!(ReturnTo::parse(Some(bad), HOME).as_str(), HOME, "{bad:?}");
        }
        let path = "/api/oauth/authorize?client_id=a&redirect_uri=https%3A%2F%2Fapp.example";
        assert_eq!(ReturnTo::parse(Some(path), HOME).as_str(), path);
    }

    proptest! {
        #[test]
        fn it_never_leaves_the_site(text in "[/\\\\a-z:@.?#%\t\n ]{0,24}") {
            let base = Url::parse("https://id.example.com/login").expect("an address");
            let there = base.join(ReturnTo::parse(Some(&text), HOME).as_str()).expect("an address");
            prop_assert_eq!(there.origin(), base.origin());
        }
    }
}
