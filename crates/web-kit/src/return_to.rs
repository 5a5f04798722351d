//! Where somebody goes on after signing in: a path of this service and nothing else.

/// Longer ones are not followed; an authorization request with all its parameters fits.
const MAX_BYTES: usize = 4_096;
/// A path of this service, with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnTo(String);

impl ReturnTo {
    /// Reads what a link or a form says; whatever could be read as another site's address leads home, as
    /// nothing does.
    #[must_use]
    pub fn parse(text: Option<&str>, home: &'static str) -> Self {
        let path = text.filter(|text| is_path(text)).unwrap_or(home);
        Self(path.to_owned())
    }

    /// The path.
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
