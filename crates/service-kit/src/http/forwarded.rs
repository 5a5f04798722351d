//! The hops that proxies report: `X-Forwarded-For`, and `Forwarded` (RFC 7239).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use actix_web::http::header::HeaderMap;

/// Returns the hops of all `X-Forwarded-For` lines in order, or none without such a line. A hop that is no address is none.
pub(super) fn usual_hops(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    hops(headers, "x-forwarded-for", |line| {
        line.split(',').map(address).collect()
    })
}

/// Returns the hops of all `Forwarded` lines in the same way. A line that breaks the grammar is one hop that cannot be parsed.
pub(super) fn standard_hops(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    hops(headers, "forwarded", |line| {
        elements(line).unwrap_or_else(|| vec![None])
    })
}

fn hops(
    headers: &HeaderMap,
    name: &str,
    read: impl Fn(&str) -> Vec<Option<IpAddr>>,
) -> Option<Vec<Option<IpAddr>>> {
    headers.contains_key(name).then(|| {
        let lines = headers.get_all(name);
        lines
            .flat_map(|line| line.to_str().map_or_else(|_| vec![None], &read))
            .collect()
    })
}

/// Parses the elements of a line: the address after `for=`, or none for `unknown`, obfuscated names and a missing `for=`.
fn elements(line: &str) -> Option<Vec<Option<IpAddr>>> {
    let mut hops = Vec::new();
    let mut rest = line;
    loop {
        let mut node = None;
        loop {
            let (name, after) = rest.split_once('=')?;
            let name = name.trim();
            let (value, after) = value(after)?;
            if name.is_empty() || !name.chars().all(is_of_token) {
                return None;
            }
            if name.eq_ignore_ascii_case("for") && node.replace(value).is_some() {
                return None;
            }
            rest = after.trim_start();
            match rest.strip_prefix(';') {
                Some(next) => rest = next,
                None => break,
            }
        }
        hops.push(node.as_deref().and_then(address));
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return rest.is_empty().then_some(hops),
        }
    }
}

/// Splits a token or a quoted string from what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        // Colons and brackets must be quoted, and often are not.
        let end = text.find(|c| !is_of_token(c) && !":[]".contains(c));
        let (value, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
        return (!value.is_empty()).then(|| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((value, chars.as_str())),
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
}

fn is_of_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// Parses the address of a node, which may have a port, and brackets if it is IPv6.
fn address(node: &str) -> Option<IpAddr> {
    let node = node.trim();
    if let Some(bracketed) = node.strip_prefix('[') {
        let (host, port) = bracketed.split_once(']')?;
        let is_whole = port.is_empty() || port.starts_with(':');
        let address: Ipv6Addr = host.parse().ok().filter(|_| is_whole)?;
        return Some(IpAddr::V6(address).to_canonical());
    }
    let without_port = node.split_once(':').map_or(node, |(host, _)| host);
    let address = match without_port.parse::<Ipv4Addr>() {
        Ok(address) => IpAddr::V4(address),
        Err(_) => node.parse().ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hops as text, `-` for one that cannot be parsed; none for a line that breaks the grammar.
    fn read(line: &str) -> Option<String> {
        let hops = elements(line)?;
        let text = |hop: Option<IpAddr>| hop.map_or("-".to_owned(), |hop| hop.to_string());
        Some(hops.into_iter().map(text).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_line_of_the_standard_is_read_as_rfc_7239_has_it() {
        for (line, hops) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ("for=\"[2001:db8:cafe::17]\"", "2001:db8:cafe::17"),
            (
                "for=192.0.2.43, for=198.51.100.17",
                "192.0.2.43 198.51.100.17",
            ),
            ("for=\"192.0.2.43:47011\"", "192.0.2.43"),
            ("for=192.0.2.43:_port", "192.0.2.43"),
            ("for=192.0.2.43,for=\"_gazonk\"", "192.0.2.43 -"),
            ("for=unknown", "-"),
            ("for=_hidden, for=_SEVKISEK", "- -"),
            ("proto=https", "-"),
            ("host=\"a\\\"b,for=1.1.1.1\";for=192.0.2.1", "192.0.2.1"),
            (
                "for=\"::ffff:192.0.2.1\" ; by=_x , for=192.0.2.2",
                "192.0.2.1 192.0.2.2",
            ),
            ("for=\"[::1]x\"", "-"),
            ("for=localhost", "-"),
        ] {
            assert_eq!(read(line).as_deref(), Some(hops), "{line}");
        }
    }

    #[test]
    fn a_line_that_breaks_the_grammar_says_nothing() {
        for line in [
            "",
            "192.0.2.1",
            "for=",
            "for=\"192.0.2.1",
            "for=\"192.0.2.1\"x",
            "for=192.0.2.1;",
            "for=192.0.2.1,",
            "for=192.0.2.1, ,for=192.0.2.2",
            "for=192.0.2.1;for=192.0.2.2",
            "nonsense, for=192.0.2.1",
            "for=192.0.2.1 for=192.0.2.2",
            "for=192.0.2.1\\",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
