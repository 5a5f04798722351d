//! Every address that passes has a listed origin.

use proptest::prelude::*;

use super::*;

/// Whether an origin is listed. Each one is written out here.
fn is_named(origin: &str) -> bool {
    let exact = [
        "https://app.example.com",
        "https://ported.example.com:8443",
        "https://xn--mnchen-3ya.example",
    ];
    let below = |host: &str| {
        host.split_once('.')
            .is_some_and(|(label, base)| !label.is_empty() && base == "wild.example")
    };
    let local = |base: &str| {
        origin.strip_prefix(base).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix(':')
                    .is_some_and(|port| port.parse::<u16>().is_ok())
        })
    };
    exact.contains(&origin)
        || origin.strip_prefix("https://").is_some_and(below)
        || local("http://localhost")
        || local("http://127.0.0.1")
}

/// Pieces of addresses, valid and invalid, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "https",
            "http",
            "HTTP",
            ":",
            "/",
            "//",
            "\\",
            "@",
            "#",
            "?",
            "%2f",
            "%5c",
            "%00",
            "%40",
            "%2e",
            ".",
            "*",
            "app",
            "app.example.com",
            "example",
            "evil.example",
            "one.wild.example",
            "wild.example",
            "localhost",
            "127.0.0.1",
            "[::1]",
            ":443",
            ":80",
            ":8443",
            ":3000",
            "\t",
            "\n",
            " ",
            "\0",
            "。",
            "／",
            "xn--",
            "ü",
            "javascript",
            "data",
            "&",
            ";",
            "=",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// A valid address with pieces inserted somewhere that do not belong there.
fn disturbed() -> impl Strategy<Value = String> {
    let good = proptest::sample::select(vec![
        "https://app.example.com/x",
        "https://one.wild.example/x",
        "https://ported.example.com:8443/x",
        "http://localhost:3000/x",
    ]);
    (good, pieces(), any::<prop::sample::Index>()).prop_map(|(good, piece, at)| {
        let (before, after) = good.split_at(at.index(good.len()));
        format!("{before}{piece}{after}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn an_allowed_address_has_a_listed_origin(address in prop_oneof![pieces(), disturbed()]) {
        if let Ok(normal) = check(&address) {
            let url = Url::parse(&normal).unwrap();
            prop_assert!(is_named(&url.origin().ascii_serialization()), "{} is {}", address, normal);
            prop_assert!(url.username().is_empty() && url.password().is_none());
            prop_assert!(normal.is_ascii() && !normal.contains(['\\', '\n', '\r', ' ', '\0']));
            prop_assert_eq!(check(&normal), Ok(normal));
        }
    }

    #[test]
    fn no_query_or_entry_panics(query in "\\PC{0,60}", entry in "\\PC{0,40}") {
        let _ = list().check(&query);
        let _ = OriginAllowList::parse(&[entry]);
    }
}
