//! Cleaning of user input before anybody else sees it.

/// Separates characters for programs, invisibly for readers.
pub(crate) const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Marks a truncated text.
pub(crate) const CUT: char = '…';

/// Whether a character is visible and has no other effect.
pub(crate) fn is_shown(character: char) -> bool {
    match character {
        '\n' => true,
        // Marks, embeddings, overrides and isolates, which change the direction of the rest of a line.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        // Line ends that a quotation would not recognise.
        '\u{2028}' | '\u{2029}' => false,
        // Invisible: byte order mark, annotations, tags.
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => false,
        other => !other.is_control(),
    }
}

/// Returns the text on one line, without invisible characters, truncated to `limit` characters.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let joined = words.join(" ");
    let mut shown = joined.chars().filter(|&character| is_shown(character));
    let mut out: String = shown.by_ref().take(limit).collect();
    if shown.next().is_some() {
        out.pop();
        out.push(CUT);
    }
    out
}

/// Returns [`line`] with zero-width spaces in everything that a mail program would turn into a link.
pub(crate) fn unlinked_line(text: &str, limit: usize) -> String {
    let text = line(text, limit);
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        out.push(character);
        let next = rest.peek().copied().unwrap_or(' ');
        let links = match character {
            ':' | '@' => !next.is_whitespace(),
            '.' | '。' | '．' | '｡' => {
                let number = previous.is_ascii_digit() && next.is_ascii_digit();
                previous.is_alphanumeric() && next.is_alphanumeric() && !number
            }
            _ => false,
        };
        if links {
            out.push(ZERO_WIDTH_SPACE);
        }
        previous = character;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_has_only_visible_text_within_its_limit() {
        assert_eq!(line(" a\r\nBcc: b@c\n\t d ", 100), "a Bcc: b@c d");
        assert_eq!(
            line("a\u{202e}b\0\u{7}c\u{2028}\u{200f}d\u{feff}", 100),
            "abc d"
        );
        assert_eq!(line("äbcdef", 4), "äbc…");
        assert_eq!(line("äbcd", 4), "äbcd");
        assert_eq!(line("", 4), "");
    }

    #[test]
    fn no_name_contains_a_link_and_ordinary_names_are_unchanged() {
        let split = |text: &str| unlinked_line(text, 100).replace(ZERO_WIDTH_SPACE, "|");
        assert_eq!(split("http://evil.example/x"), "http:|//evil.|example/x");
        assert_eq!(split("www.evil.com"), "www.|evil.|com");
        assert_eq!(split("mailto:a@b.c"), "mailto:|a@|b.|c");
        assert_eq!(split("J. R. Smith, Jr."), "J. R. Smith, Jr.");
        assert_eq!(split("Release 3.5"), "Release 3.5");
        assert_eq!(split("Team: core"), "Team: core");
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_line_within_the_limit(text in any::<String>(), limit in 1_usize..80) {
            let line = line(&text, limit);
            prop_assert!(line.chars().count() <= limit);
            prop_assert!(line.chars().all(|c| is_shown(c) && c != '\n'));
            let unlinked = unlinked_line(&text, limit);
            prop_assert!(!unlinked.contains("://") && !unlinked.to_lowercase().contains("www.a"));
        }
    }
}
