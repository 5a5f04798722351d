#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod properties;

use super::*;

const LISTED: [&str; 6] = [
    "https://app.example.com",
    "https://*.wild.example",
    "https://ported.example.com:8443",
    "https://münchen.example",
    "http://localhost:*",
    "http://127.0.0.1:*",
];

fn list() -> OriginAllowList {
    let entries: Vec<String> = LISTED.iter().map(|entry| (*entry).to_owned()).collect();
    OriginAllowList::parse(&entries).unwrap()
}

/// Checks an address, encoded as a browser sends it.
fn check(address: &str) -> Result<String, NotAllowed> {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair(PARAMETER, address)
        .finish();
    list().check(&query).map(String::from)
}

#[test]
fn addresses_of_listed_origins_are_allowed_in_normal_form() {
    for (address, normal) in [
        ("https://app.example.com", "https://app.example.com/"),
        ("https://app.example.com/", "https://app.example.com/"),
        (
            "https://app.example.com/a/b?c=d&e=%20f#g",
            "https://app.example.com/a/b?c=d&e=%20f#g",
        ),
        ("https://app.example.com:443/x", "https://app.example.com/x"),
        ("https://app.example.com:/x", "https://app.example.com/x"),
        (
            "HTTPS://APP.EXAMPLE.COM/Path",
            "https://app.example.com/Path",
        ),
        ("https://app.example.com?x", "https://app.example.com/?x"),
        ("https://app.example.com#x", "https://app.example.com/#x"),
        (
            "https://app.example.com/../../x",
            "https://app.example.com/x",
        ),
        (
            "https://app.example.com//evil.example",
            "https://app.example.com//evil.example",
        ),
        (
            "https://app.example.com/@evil.example",
            "https://app.example.com/@evil.example",
        ),
        (
            "https://app.example.com/?next=https://evil.example",
            "https://app.example.com/?next=https://evil.example",
        ),
        (
            "https://app.example.com/%2f%2fevil.example",
            "https://app.example.com/%2f%2fevil.example",
        ),
        // Spellings of the same host. The browser is sent to the normal one.
        ("https://app%2eexample%2ecom/", "https://app.example.com/"),
        ("https://app。example。com/", "https://app.example.com/"),
        ("https://ａｐｐ.example.com/", "https://app.example.com/"),
        (
            "https://MÜNCHEN.example/",
            "https://xn--mnchen-3ya.example/",
        ),
        (
            "https://xn--mnchen-3ya.example/",
            "https://xn--mnchen-3ya.example/",
        ),
        ("https://one.wild.example/x", "https://one.wild.example/x"),
        ("https://ONE-2.wild.example", "https://one-2.wild.example/"),
        (
            "https://ported.example.com:8443/",
            "https://ported.example.com:8443/",
        ),
        ("http://localhost/", "http://localhost/"),
        ("http://localhost:80/", "http://localhost/"),
        ("http://localhost:3000/x", "http://localhost:3000/x"),
        ("http://127.0.0.1:65535/", "http://127.0.0.1:65535/"),
        ("http://2130706433:3000/", "http://127.0.0.1:3000/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
    ] {
        assert_eq!(check(address).as_deref(), Ok(normal), "{address}");
    }
}

#[test]
fn every_other_address_is_refused() {
    for address in [
        // Another origin.
        "https://evil.example/",
        "https://evil.example/https://app.example.com",
        "https://evil.example/?https://app.example.com/",
        "https://evil.example#https://app.example.com/",
        "https://app.example.com.evil.example/",
        "https://app.example.comevil.example/",
        "https://evilapp.example.com/",
        "https://evil.example/app.example.com",
        "https://example.com/",
        "https://app.example.co/",
        "https://app.example.com./",
        "https://.app.example.com/",
        "https://app..example.com/",
        "https://sub.app.example.com/",
        "https://app-example.com/",
        "https://app.example.com:444/",
        "https://app.example.com:80/",
        "https://app.example.com:4430/",
        "https://ported.example.com/",
        "https://ported.example.com:8444/",
        // A wildcard is one label, no more and no less.
        "https://wild.example/",
        "https://.wild.example/",
        "https://two.one.wild.example/",
        "https://evilwild.example/",
        "https://one.wild.example.evil.example/",
        "https://one.wild.example:444/",
        "https://*.wild.example/",
        "https://evil.example;.wild.example/",
        "http://one.wild.example/",
        // Another scheme.
        "http://app.example.com/",
        "https://localhost:3000/",
        "ftp://app.example.com/",
        "ws://app.example.com/",
        "wss://app.example.com/",
        "file://app.example.com/etc/passwd",
        "javascript:alert(1)",
        "javascript://app.example.com/%0aalert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "data://app.example.com/,x",
        "vbscript:msgbox(1)",
        "blob:https://app.example.com/8a0c",
        "view-source:https://app.example.com/",
        "about:blank",
        "mailto:a@app.example.com",
        "custom://app.example.com/",
        // User information before the host.
        "https://app.example.com@evil.example/",
        "https://app.example.com:443@evil.example/",
        "https://app.example.com%40evil.example/",
        "https://user@app.example.com/",
        "https://user:password@app.example.com/",
        "https://:@app.example.com/",
        "https://@app.example.com/",
        "https://a@b@app.example.com/",
        "https://evil.example@app.example.com/",
        "https://app.example.com;@evil.example/",
        "https://app.example.com&@evil.example#@app.example.com/",
        // Slashes that are not slashes, too few, or too many.
        "https:app.example.com",
        "https:/app.example.com",
        "https:///app.example.com",
        "https:////app.example.com",
        "http:evil.example",
        "//app.example.com/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https:\\\\app.example.com\\",
        "https:/\\app.example.com/",
        "https://app.example.com\\@evil.example/",
        "https://evil.example\\@app.example.com/",
        "https://evil.example\\.app.example.com/",
        "https://app.example.com\\.evil.example/",
        "https://app.example.com/\\evil.example",
        "https://app.example.com/?a=\\",
        "https://app.example.com%2f@evil.example/",
        "https://app.example.com%2f.evil.example/",
        "https://app.example.com%5c.evil.example/",
        "https://app.example.com%23.evil.example/",
        "https://app.example.com%3f.evil.example/",
        "https://app.example.com%00.evil.example/",
        "https://app.example.com%00",
        "https://evil.example%00app.example.com/",
        "https%3a%2f%2fapp.example.com/",
        "https://evil.example／app.example.com/",
        "https://app.example.com／.evil.example/",
        "https://evil.example℀.app.example.com/",
        // Characters that parsers drop silently.
        " https://app.example.com/",
        "https://app.example.com/ ",
        "\thttps://app.example.com/",
        "https://app.example.com/\n",
        "ht\ntps://app.example.com/",
        "https://app.exam\tple.com/",
        "https://app.example.com/\r\nSet-Cookie: a=b",
        "https://app.example.com/\0",
        "https://app.example.com/\u{7f}",
        "https://app.example.com/\u{85}",
        "https://app.example.com/\u{2028}",
        "https://app.example.com/a b",
        "\u{feff}https://app.example.com/",
        "\u{1}https://app.example.com/",
        // Hosts that look like a listed one.
        "https://аpp.example.com/",
        "https://xn--pp-6kc.example.com/",
        "https://app.exаmple.com/",
        "https://muenchen.example/",
        "https://xn--/",
        "https://xn--a.example/",
        // Other names of this machine, and other machines with similar names.
        "http://127.0.0.2:3000/",
        "http://[::1]:3000/",
        "http://[::ffff:127.0.0.1]:3000/",
        "http://[::1",
        "http://[app.example.com]/",
        "http://localhost.:3000/",
        "http://localhost.evil.example:3000/",
        "http://localhost:3000@evil.example/",
        "http://0.0.0.0:3000/",
        "http://127.0.0.1.evil.example/",
        "http://127.0.0.1:3000:80/",
        "http://localhost:99999/",
        "http://localhost:-1/",
        "http://localhost:port/",
        "http://localhost:*/",
        // Not an address.
        "",
        "/",
        "app.example.com",
        "app.example.com/",
        "?",
        "#",
        "https",
        "https:",
        "https://",
        "https:///",
        "https://?",
        "https://#app.example.com",
        "https://:443/",
        "://app.example.com/",
        "null",
        "*",
        "https://*",
        "%",
    ] {
        assert_eq!(check(address), Err(NotAllowed), "{address:?}");
    }
    let long = format!("https://app.example.com/{}", "x".repeat(MAX_BYTES));
    assert_eq!(check(&long), Err(NotAllowed));
}

#[test]
fn the_parameter_must_occur_exactly_once_in_the_query() {
    let check = |query: &str| list().check(query).map(String::from);
    let good = "redirect_uri=https%3A%2F%2Fapp.example.com%2Fx";
    for query in [
        good,
        "redirect_uri=https://app.example.com/x",
        "a=b&redirect_uri=https://app.example.com/x&c",
        "redirect%5Furi=https://app.example.com/x",
        "Redirect_Uri=https://evil.example/&redirect_uri=https://app.example.com/x",
    ] {
        assert_eq!(
            check(query).as_deref(),
            Ok("https://app.example.com/x"),
            "{query}"
        );
    }
    for query in [
        "",
        "redirect_uri",
        "redirect_uri=",
        "redirecturi=https://app.example.com/x",
        "REDIRECT_URI=https://app.example.com/x",
        "redirect_uri[]=https://app.example.com/x",
        "redirect_uri=https://app.example.com/x;redirect_uri=https://app.example.com/\\",
        &format!("{good}&{good}"),
        &format!("{good}&redirect_uri="),
        &format!("{good}&redirect_uri=https://evil.example/"),
        &format!("redirect_uri=https://evil.example/&{good}"),
        &format!("{good}&redirect%5Furi=https://evil.example/"),
        &format!("{good}&%72edirect_uri"),
        // Invalid UTF-8, and a name that is encoded twice.
        "redirect_uri=https://app.example.com/%ff",
        "redirect_uri=https://app.example.com/%c0%af",
        "redirect%255Furi=https://app.example.com/x",
    ] {
        assert_eq!(check(query), Err(NotAllowed), "{query}");
    }
}

#[test]
fn an_empty_list_allows_nothing() {
    let nothing = OriginAllowList::default();
    assert!(
        nothing
            .check("redirect_uri=https://app.example.com/")
            .is_err()
    );
    assert!(nothing.check("redirect_uri=http://localhost/").is_err());
}

#[test]
fn list_entries_must_be_full_origins() {
    for good in [
        "https://app.example.com",
        "https://app.example.com:8443",
        "https://*.example.com",
        "https://*.example.com:8443",
        "https://192.0.2.1",
        "https://[2001:db8::1]:8443",
        "https://localhost",
        "https://localhost:*",
        "http://localhost",
        "http://localhost:3000",
        "http://localhost:*",
        "http://127.0.0.1:*",
        "http://[::1]:*",
    ] {
        assert!(OriginAllowList::parse(&[good.to_owned()]).is_ok(), "{good}");
    }
    for bad in [
        "",
        "*",
        "app.example.com",
        "//app.example.com",
        "https:app.example.com",
        "https://",
        "https://*",
        "https://*.",
        "https://*.com",
        "https://*.localhost:*",
        "https://*.192.0.2.1",
        "https://*.*.example.com",
        "https://a.*.example.com",
        "https://a*.example.com",
        "https://app.example.com:*",
        "https://*.example.com:*",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://app.example.com?x",
        "https://app.example.com#x",
        "https://user@app.example.com",
        "https://app.example.com\\",
        "https://app.example.com ",
        "https://app%2eexample.com",
        "https://app.example.com:port",
        "https://app.example.com:70000",
        "https://[::1",
        "http://app.example.com",
        "http://*.example.com",
        "http://192.168.0.1:*",
        "ftp://app.example.com",
        "javascript://x",
        "HTTPS://app.example.com",
    ] {
        let why = OriginAllowList::parse(&[LISTED[0].to_owned(), bad.to_owned()]).unwrap_err();
        assert!(
            why.starts_with(&format!("{bad:?}: ")) && !why.contains('\n'),
            "{why}"
        );
    }
}
