use crate::text::is_shown;

/// The number of characters of a body that are shown without `--full`.
const SHORT_LIMIT: usize = 4_000;

/// Formats a body for a terminal: JSON is indented, other text is unchanged, and control and direction characters are
/// escaped.
pub(super) fn readable(body: &[u8], full: bool) -> String {
    let indented = serde_json::from_slice::<serde_json::Value>(body)
        .and_then(|value| serde_json::to_string_pretty(&value));
    let text = indented.unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned());
    let limit = if full { usize::MAX } else { SHORT_LIMIT };
    let mut shown = String::new();
    for character in text.chars().take(limit) {
        if is_shown(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    if text.chars().nth(limit).is_some() {
        shown += "\n… (--full shows the whole body)";
    }
    shown
}

/// Formats a value for a table or a line.
pub(super) fn inline(text: &str) -> String {
    crate::text::line(text, 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_body_reaches_the_terminal_as_a_control_sequence() {
        let shown = readable("{\"a\":\"\\u001b[2J\u{202e}x\u{9b}\"}".as_bytes(), false);
        assert_eq!(shown, "{\n  \"a\": \"\\u001b[2J\\u{202e}x\\u{9b}\"\n}");
        assert_eq!(
            readable(b"\x1b]0;title\x07\0\xff", false),
            "\\u{1b}]0;title\\u{7}\\u{0}\u{fffd}"
        );
        assert!(!inline("a\u{1b}[31m\nb").contains('\u{1b}'));
    }

    #[test]
    fn a_long_body_is_cut_unless_all_of_it_is_requested() {
        let body = vec![b'x'; 5_000];
        assert!(readable(&body, false).ends_with("x\n… (--full shows the whole body)"));
        assert_eq!(readable(&body, true).len(), 5_000);
    }
}
