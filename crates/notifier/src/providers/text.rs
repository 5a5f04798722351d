use crate::text::{CUT, ZERO_WIDTH_SPACE, is_shown};

/// User text as Slack-shaped `mrkdwn`: `&`, `<` and `>` as entities (the only characters with meaning
/// there), no mention that would call anybody, no control or direction-changing characters, and at most
/// `limit` characters of result, never cut inside an entity.
pub(super) fn escape(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut length, mut whole, mut previous) = (0, 0, ' ');
    for character in text.chars().filter(|&character| is_shown(character)) {
        // "@channel" calls people in chats that read Slack's shape, and so does "<!channel>" where an
        // entity is undone before mentions are looked for.
        let calls = (previous == '@' && !character.is_whitespace())
            || (previous == '<' && matches!(character, '!' | '@' | '#'));
        if calls {
            out.push(ZERO_WIDTH_SPACE);
        }
        let piece = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            _ => "",
        };
        if piece.is_empty() {
            out.push(character);
        } else {
            out.push_str(piece);
        }
        length += usize::from(calls) + piece.len().max(1);
        if length > limit {
            out.truncate(whole);
            out.push(CUT);
            break;
        }
        if length < limit {
            // Up to here there is still room for the mark of a cut.
            whole = out.len();
        }
        previous = character;
    }
    out
}

/// [`escape`] for what belongs on one line.
pub(super) fn escape_line(text: &str, limit: usize) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    escape(&line.join(" "), limit)
}

/// Escaped text as a quotation, so that nobody can write lines that look like ours; at most `lines` of them.
pub(super) fn quote(escaped: &str, lines: usize) -> String {
    let mut quoted = String::new();
    for (index, line) in escaped.lines().enumerate() {
        if index == lines {
            quoted.push_str("\n> ");
            quoted.push(CUT);
            break;
        }
        if index > 0 {
            quoted.push('\n');
        }
        quoted.push_str("> ");
        quoted.push_str(line);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_means_something_to_the_chat_means_nothing_any_more() {
        assert_eq!(
            escape("a < b && c > d", 100),
            "a &lt; b &amp;&amp; c &gt; d"
        );
        assert_eq!(escape("<!channel>", 100), "&lt;\u{200b}!channel&gt;");
        assert_eq!(
            escape("hey @here and <@U1>", 100),
            "hey @\u{200b}here and &lt;\u{200b}@\u{200b}U1&gt;"
        );
        assert_eq!(escape("a\u{202e}b\0\u{7}c\u{2028}d", 100), "abcd");
        assert_eq!(escape_line(" a\n\t b\r\nc ", 100), "a b c");
        assert_eq!(quote("a\nb", 2), "> a\n> b");
        assert_eq!(quote("a\nb\nc", 2), "> a\n> b\n> …");
    }

    #[test]
    fn text_that_was_cut_says_so_and_ends_between_entities() {
        assert_eq!(escape("&&&", 13), "&amp;&amp;…");
        assert_eq!(escape("&&&", 15), "&amp;&amp;&amp;");
        assert_eq!(escape("äbcdef", 4), "äbc…");
        assert_eq!(escape("äbcd", 4), "äbcd");
    }

    proptest! {
        #[test]
        fn no_markup_survives_and_the_limit_holds(text in any::<String>(), limit in 1_usize..200) {
            let escaped = escape(&text, limit);
            prop_assert!(escaped.chars().count() <= limit);
            prop_assert!(!escaped.contains(['<', '>']));
            for (index, _) in escaped.match_indices('&') {
                let rest = escaped.get(index..).unwrap_or_default();
                prop_assert!(["&amp;", "&lt;", "&gt;"].iter().any(|entity| rest.starts_with(entity)), "{escaped:?}");
            }
            for word in ["@channel", "@here", "@everyone", "@all"] {
                prop_assert!(!escaped.contains(word));
            }
        }
    }
}
