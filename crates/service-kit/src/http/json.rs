//! Which JSON bodies are rejected, and with which message.

use serde::de::DeserializeOwned;

use crate::Problem;

/// The maximum nesting of arrays and objects in a body, which is also the parser's limit.
const MAX_DEPTH: usize = 127;

/// Parses a JSON object. Serde also reads a struct from an array of its fields in order, which no request body means.
pub(super) fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let start = bytes.trim_ascii_start();
    if !start.is_empty() && !start.starts_with(b"{") {
        return Err(Problem::bad_request(
            "The request body must be a JSON object",
        ));
    }
    parse(bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // The parser checks only the text of fields that it knows.
    if std::str::from_utf8(bytes).is_err() {
        return Err(Problem::bad_request("The request body is not valid UTF-8"));
    }
    let without_nul = holds_escaped_nul(bytes)
        .then(|| mark_nul_in_id(bytes))
        .flatten();
    let bytes = without_nul.as_deref().unwrap_or(bytes);
    if holds_escaped_nul(bytes) {
        return Err(Problem::bad_request(
            "Text must not contain the NUL character",
        ));
    }
    if is_too_deep(bytes) {
        return Err(Problem::bad_request(
            "The request body is nested too deeply",
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        // Messages of syntax errors name a position, those of shape errors a field. Neither repeats a string value.
        match error.classify() {
            serde_json::error::Category::Data => Problem::bad_request(format!(
                "The request body is invalid: {}",
                without_values(&error)
            )),
            _ => Problem::bad_request(format!(
                "The request body is not valid JSON (line {}, column {})",
                error.line(),
                error.column()
            )),
        }
    })
}

/// Returns the body with each NUL in its field `session_id` replaced by a character that no id contains. An id with NUL names
/// nothing, which is for the handler to report.
fn mark_nul_in_id(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(bytes).ok()?;
    let id = body.get_mut("session_id")?;
    *id = id.as_str()?.replace('\0', "\u{fffd}").into();
    serde_json::to_vec(&body).ok()
}

/// Whether arrays and objects are nested deeper than [`MAX_DEPTH`]. The parser applies that limit to the fields that it knows,
/// and skips others however deep they are.
fn is_too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    bytes.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Returns serde's message without the offending value, which may be a password.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(text, _)| text);
    match (
        text.strip_prefix("invalid type: "),
        text.strip_prefix("invalid value: "),
    ) {
        (Some(rest), _) | (_, Some(rest)) => {
            let found = rest
                .split([' ', '`'])
                .next()
                .unwrap_or_default()
                .trim_end_matches(',');
            let expected = rest
                .rsplit_once(", expected ")
                .map_or("something else", |(_, expected)| expected);
            format!("found {found}, expected {expected}")
        }
        _ => text.to_owned(),
    }
}

/// Whether the text contains a `\u0000` escape whose backslash is not itself escaped.
fn holds_escaped_nul(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if rest.starts_with(b"u0000") {
            return true;
        }
        // The character after a backslash belongs to it.
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_nul_is_found_and_an_escaped_backslash_is_not_mistaken_for_one() {
        assert!(holds_escaped_nul(br#"{"a":"x\u0000y"}"#));
        assert!(holds_escaped_nul(br#"{"a":"\\\u0000"}"#));
        assert!(!holds_escaped_nul(br#"{"a":"\\u0000"}"#));
        assert!(!holds_escaped_nul(br#"{"a":"\u0001\n"}"#));
        assert!(!holds_escaped_nul(b"\\"));
    }

    #[test]
    fn an_error_never_repeats_the_value() {
        let error =
            parse::<Vec<u32>>(br#"["hunter2 is, expected secret"]"#).expect_err("no numbers");
        assert!(!error.message.contains("hunter2"), "{error}");
        assert!(error.message.contains("expected"), "{error}");
        let deep = vec![b'['; 100_000];
        assert_eq!(
            parse::<serde_json::Value>(&deep)
                .expect_err("too deep")
                .status
                .as_u16(),
            400
        );
    }

    #[test]
    fn depth_counts_in_fields_that_are_skipped_and_not_in_text() {
        #[derive(Debug, serde::Deserialize)]
        struct Named {
            name: Option<String>,
        }
        let body = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(parse::<Named>(body(MAX_DEPTH).as_bytes()).is_ok());
        let refused = parse::<Named>(body(MAX_DEPTH + 1).as_bytes()).expect_err("too deep");
        assert_eq!(refused.status.as_u16(), 400);
        let brackets = format!(r#"{{"name":"\"{}\\"}}"#, "[{".repeat(500));
        let read = parse::<Named>(brackets.as_bytes()).expect("text");
        assert_eq!(read.name.map(|name| name.len()), Some(1_002));
    }
}
