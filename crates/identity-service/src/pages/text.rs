//! How these pages show times and devices, in addition to the formats that all services share.

use auth_types::TeamRole;
use chrono::{DateTime, Utc};
use messages::{Text, t};
pub(crate) use web_kit::text::{Pager, given, initial, with_query};

/// Formats a time to the minute. The server does not know the reader's time zone, so it uses UTC and says so.
pub(crate) fn moment(at: &DateTime<Utc>) -> String {
    messages::utc_time(at).into()
}

pub(crate) fn day(at: &DateTime<Utc>) -> String {
    messages::date(at.date_naive()).into()
}

/// Returns the display name of a role. Templates pass everything by reference.
pub(crate) fn role(role: &TeamRole) -> Text {
    match role {
        TeamRole::Owner => t("teams-role-owner"),
        TeamRole::Admin => t("teams-role-admin"),
        TeamRole::Member => t("teams-role-member"),
    }
}

/// Names the device of a `User-Agent` in familiar words. Browsers name each other's engines, so the most specific
/// name is tried first.
pub(crate) fn device(user_agent: Option<&str>) -> String {
    let text = user_agent.unwrap_or_default();
    let named = |table: &[(&str, &'static str)]| {
        let found = table.iter().find(|(mark, _)| text.contains(mark));
        found.map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => t("account-device")
            .with("browser", browser)
            .with("system", system)
            .into(),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => match text.split(['/', ' ']).next() {
            None | Some("") => t("account-device-unknown").into(),
            Some(program) => program.to_owned(),
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_browser_and_system() {
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
}
