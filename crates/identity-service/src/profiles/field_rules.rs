//! The validation of profile fields.

use service_kit::time_zone::Zone;
use unic_langid::LanguageIdentifier;
use url::Url;

use crate::error::Error;

const MAX_BIO_CHARS: usize = 2_000;
const MAX_WEBSITE_CHARS: usize = 2_048;
/// RFC 5646 section 4.4.1: longer tags need extensions, which say nothing about a language.
const MAX_LOCALE_CHARS: usize = 35;

/// Checks the length of a bio.
pub(super) fn check_bio(text: &str) -> Result<(), Error> {
    if text.chars().count() > MAX_BIO_CHARS {
        return Err(Error::Validation(
            "bio must have at most 2000 characters".into(),
        ));
    }
    Ok(())
}

/// Checks the address of a website. It is stored as typed, so it must be unambiguous. Some URL parsers skip spaces and line
/// ends, and read `java\nscript:` as a scheme.
pub(super) fn check_website(text: &str) -> Result<(), Error> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    let fits = text.chars().count() <= MAX_WEBSITE_CHARS && !text.contains(odd);
    let good = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let head = text.to_ascii_lowercase();
    let spelt_out = head.starts_with("http://") || head.starts_with("https://");
    if fits && spelt_out && Url::parse(text).is_ok_and(|url| good(&url)) {
        return Ok(());
    }
    Err(Error::Validation(
        "website_url must be an http or https address of at most 2048 characters".into(),
    ))
}

/// Returns a language tag in its usual spelling: `de_at` becomes `de-AT`.
pub(super) fn parse_locale(tag: &str) -> Result<String, Error> {
    let parsed = tag.parse::<LanguageIdentifier>();
    match parsed {
        Ok(parsed) if tag.len() <= MAX_LOCALE_CHARS => Ok(parsed.to_string()),
        _ => Err(Error::Validation(
            "locale must be a language tag such as en or de-AT".into(),
        )),
    }
}

/// Checks that a time zone is in the IANA database.
pub(super) fn check_zoneinfo(name: &str) -> Result<(), Error> {
    match Zone::get(name) {
        Some(_) => Ok(()),
        None => Err(Error::Validation(
            "zoneinfo must be a time zone of the IANA database, such as Europe/Berlin".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_website_is_a_well_formed_http_or_https_address() {
        for good in [
            "https://example.com",
            "HTTP://Example.com:8080/a?b=c#d",
            "https://例え.jp/ö",
            "http://127.0.0.1/",
        ] {
            assert!(check_website(good).is_ok(), "{good}");
        }
        let long = format!("https://example.com/{}", "a".repeat(2_048));
        for bad in [
            "",
            "example.com",
            "//example.com",
            "https:",
            "https://",
            "https:example.com",
            "https:/example.com",
            "https:\\\\example.com",
            " https://example.com",
            "https://exam ple.com",
            "https://example.com/\n",
            "java\nscript:alert(1)",
            "javascript:alert(1)//http://",
            "ftp://example.com",
            "data:text/html,x",
            &long,
        ] {
            assert!(check_website(bad).is_err(), "{bad:?}");
        }
        let longest = format!("https://example.com/{}", "a".repeat(2_048 - 20));
        assert!(check_website(&longest).is_ok());
    }

    #[test]
    fn a_locale_is_stored_in_its_usual_spelling() {
        for (tag, stored) in [
            ("en", "en"),
            ("de_at", "de-AT"),
            ("ZH-hant-tw", "zh-Hant-TW"),
            ("es-419", "es-419"),
        ] {
            assert_eq!(parse_locale(tag).ok().as_deref(), Some(stored));
        }
        let long = format!("de-DE{}", "-1901abcd".repeat(8));
        for bad in ["", "e", "english language", "en-", "<b>", "en\n", &long] {
            assert!(parse_locale(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_time_zone_is_one_of_the_iana_database() {
        for good in ["Europe/Berlin", "UTC", "America/Argentina/Ushuaia"] {
            assert!(check_zoneinfo(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Berlin",
            "Europe/Berln",
            "UTC+1",
            "../etc/passwd",
            "Europe/Berlin ",
        ] {
            assert!(check_zoneinfo(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_accepted_website_has_an_http_scheme(text in "\\PC{0,60}") {
            if check_website(&text).is_ok() {
                prop_assert!(text.to_ascii_lowercase().starts_with("http"));
            }
        }
    }
}
