use crate::text::{CUT, ZERO_WIDTH_SPACE, is_shown};

/// How to escape the markup of a chat in user input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Markup {
    /// Whether `&`, `<` and `>` are written as entities.
    pub(super) entities: bool,
    /// Characters that a backslash escapes.
    pub(super) backslash: &'static str,
    /// Characters that have a meaning only at the beginning of a line, where a backslash escapes them.
    pub(super) at_line_start: &'static str,
    /// Characters that are separated from the next one, as `@` always is; for chats without a backslash.
    pub(super) apart: &'static str,
}

impl Markup {
    /// Escapes nothing but mentions.
    pub(super) const NONE: Self = Self {
        entities: false,
        backslash: "",
        at_line_start: "",
        apart: "",
    };

    /// Escapes user input, so that it cannot format, link or mention. The result has no control or direction
    /// characters and at most `limit` UTF-16 units, never cut inside an escape. Chats count characters or units, and
    /// there are never fewer units. Plain URLs keep their characters.
    pub(super) fn text(&self, text: &str, limit: usize) -> String {
        let shown: String = text
            .chars()
            .filter(|&character| is_shown(character))
            .collect();
        let mut out = String::with_capacity(shown.len());
        let (mut length, mut whole, mut previous, mut address) = (0, 0, '\n', 0_usize);
        for (at, character) in shown.char_indices() {
            let before = out.len();
            if previous.is_whitespace() {
                address = address_length(shown.get(at..).unwrap_or_default());
            }
            // If a chat decodes entities before it looks for mentions, "<!channel>" would mention people.
            if previous == '<' && matches!(character, '!' | '@' | '#') {
                out.push(ZERO_WIDTH_SPACE);
            }
            self.push(&mut out, character, previous, address > 0);
            address = address.saturating_sub(1);
            length += units(out.get(before..).unwrap_or_default());
            if length > limit {
                out.truncate(whole);
                out.push(CUT);
                break;
            }
            if length < limit {
                // Up to here there is still room for the truncation mark.
                whole = out.len();
            }
            previous = character;
        }
        out
    }

    /// Escapes text like [`Self::text`], on one line.
    pub(super) fn line(&self, text: &str, limit: usize) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        self.text(&words.join(" "), limit)
    }

    fn push(&self, out: &mut String, character: char, previous: char, in_address: bool) {
        let entity = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            _ => "",
        };
        let escaped = self.backslash.contains(character)
            || (previous == '\n' && self.at_line_start.contains(character));
        if self.entities && !entity.is_empty() {
            out.push_str(entity);
            return;
        }
        if escaped && !in_address {
            out.push('\\');
        }
        out.push(character);
        if character == '@' || (self.apart.contains(character) && !in_address) {
            out.push(ZERO_WIDTH_SPACE);
        }
    }
}

/// Returns the length of a text in UTF-16 units, for a chat's limit.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Formats escaped text as a quotation of at most `lines` lines, so that no user can imitate lines of the notifier.
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

/// Returns the length of the plain URL at the beginning of the text, in characters, which are also bytes. It has no
/// markup, and an escape would change its target.
fn address_length(text: &str) -> usize {
    let Some(rest) = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
    else {
        return 0;
    };
    let host = rest.split(char::is_whitespace).next().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/?=%&#+,;:".contains(&byte);
    if host.is_empty() || !host.bytes().all(plain) {
        return 0;
    }
    text.len() - rest.len() + host.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENTITIES: Markup = Markup {
        entities: true,
        ..Markup::NONE
    };
    const MARKDOWN: Markup = Markup {
        entities: false,
        backslash: "\\*_[]<",
        at_line_start: "#-",
        apart: "|",
    };

    #[test]
    fn characters_with_a_meaning_in_the_chat_are_escaped() {
        let escape = |text: &str| ENTITIES.text(text, 100);
        assert_eq!(escape("a < b && c > d"), "a &lt; b &amp;&amp; c &gt; d");
        assert_eq!(escape("<!channel>"), "&lt;\u{200b}!channel&gt;");
        assert_eq!(
            escape("hey @here and <@U1>"),
            "hey @\u{200b}here and &lt;\u{200b}@\u{200b}U1&gt;"
        );
        assert_eq!(escape("a\u{202e}b\0\u{7}c\u{2028}d"), "abcd");
        assert_eq!(ENTITIES.line(" a\n\t b\r\nc ", 100), "a b c");
        let escape = |text: &str| MARKDOWN.text(text, 100);
        assert_eq!(
            escape("# a *b* C#\n- [x](y)"),
            "\\# a \\*b\\* C#\n\\- \\[x\\](y)"
        );
        assert_eq!(escape("a||b \\"), "a|\u{200b}|\u{200b}b \\\\");
        assert_eq!(quote("a\nb", 2), "> a\n> b");
        assert_eq!(quote("a\nb\nc", 2), "> a\n> b\n> …");
    }

    #[test]
    fn a_plain_url_still_leads_to_its_target() {
        let escape = |text: &str| MARKDOWN.text(text, 200);
        assert_eq!(
            escape("see https://t.example/a_b#c _x_"),
            "see https://t.example/a_b#c \\_x\\_"
        );
        assert_eq!(escape("https://a_b)[*c"), "https://a\\_b)\\[\\*c");
        assert_eq!(escape("https://u@a_b"), "https://u@\u{200b}a\\_b");
        assert_eq!(escape("xhttps://a_b"), "xhttps://a\\_b");
        assert_eq!(
            ENTITIES.text("https://a.example/?b=1&c=2", 200),
            "https://a.example/?b=1&amp;c=2"
        );
    }

    #[test]
    fn truncated_text_ends_with_an_ellipsis_between_escapes() {
        assert_eq!(ENTITIES.text("&&&", 13), "&amp;&amp;…");
        assert_eq!(ENTITIES.text("&&&", 15), "&amp;&amp;&amp;");
        assert_eq!(ENTITIES.text("äbcdef", 4), "äbc…");
        assert_eq!(ENTITIES.text("äbcd", 4), "äbcd");
        assert_eq!(ENTITIES.text("😀😀😀", 5), "😀😀…");
        assert_eq!(MARKDOWN.text("***", 5), "\\*\\*…");
    }

    proptest! {
        #[test]
        fn no_markup_survives_and_the_limit_holds(text in any::<String>(), limit in 1_usize..200) {
            let escaped = ENTITIES.text(&text, limit);
            prop_assert!(units(&escaped) <= limit);
            prop_assert!(!escaped.contains(['<', '>']));
            for (index, _) in escaped.match_indices('&') {
                let rest = escaped.get(index..).unwrap_or_default();
                prop_assert!(["&amp;", "&lt;", "&gt;"].iter().any(|entity| rest.starts_with(entity)), "{escaped:?}");
            }
            for (index, _) in escaped.match_indices('@') {
                prop_assert!(escaped.get(index + 1..).is_some_and(|rest| rest.starts_with(ZERO_WIDTH_SPACE)));
            }
        }
    }
}
