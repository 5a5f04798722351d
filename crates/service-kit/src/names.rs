//! Names that people give to things, and by which they distinguish them.

use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic,
    GeneralCategory, Ideographic, JoiningType,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Characters that fonts draw as nothing, although Unicode counts them as symbols, letters or marks.
const BLANKS: [char; 6] = [
    '\u{2800}',  // braille pattern blank
    '\u{FFFC}',  // object replacement character
    '\u{13441}', // Egyptian hieroglyph full blank
    '\u{13442}', // Egyptian hieroglyph half blank
    '\u{16FE4}', // Khitan small script filler
    '\u{1D159}', // musical symbol null notehead
];
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// Whether a name is one line of visible characters. Two names that look the same could be confused, and a name that changes the
/// direction of text could hide what follows. It therefore contains no control character, nothing invisible, nothing that changes
/// the direction of text, and no private-use character. Joiners and variation selectors are accepted where they change what is
/// seen: in emoji, in Arabic and Indic scripts, after ideographs. The empty text is readable.
#[must_use]
pub fn is_readable(name: &str) -> bool {
    let mut before = None;
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        let after = signs.peek().copied();
        if !is_seen(sign) && !before.is_some_and(|before| changes(before, sign, after)) {
            return false;
        }
        before = Some(sign);
    }
    name.is_empty() || name.chars().any(stands_alone)
}

/// Whether a character is drawn, or is a blank that is visible between others.
fn is_seen(sign: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(sign);
    let hidden = match category {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::PrivateUse
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => true,
        // Unicode reserves code points for the emoji of later versions.
        GeneralCategory::Unassigned => {
            !CodePointSetData::new::<ExtendedPictographic>().contains(sign)
        }
        _ => CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(sign),
    };
    !hidden && !BLANKS.contains(&sign)
}

/// Whether an invisible character changes how the one before it is drawn.
fn changes(before: char, sign: char, after: Option<char>) -> bool {
    match sign {
        '\u{200C}' | '\u{200D}' => joins(before, sign, after),
        '\u{FE0E}' | EMOJI_STYLE if before.is_ascii() => after == Some(KEYCAP),
        '\u{FE0E}' | EMOJI_STYLE => CodePointSetData::new::<Emoji>().contains(before),
        '\u{FE00}'..='\u{FE02}' | '\u{E0100}'..='\u{E01EF}' => {
            CodePointSetData::new::<Ideographic>().contains(before)
        }
        _ => false,
    }
}

/// Whether a joiner is where RFC 5892 appendix A accepts it, between letters that join, or between emoji.
fn joins(before: char, sign: char, after: Option<char>) -> bool {
    let virama = CodePointMapData::<CanonicalCombiningClass>::new().get(before)
        == CanonicalCombiningClass::Virama;
    let is_letter = |sign| {
        let joining = CodePointMapData::<JoiningType>::new().get(sign);
        [
            JoiningType::DualJoining,
            JoiningType::RightJoining,
            JoiningType::LeftJoining,
        ]
        .contains(&joining)
    };
    let is_picture = |sign| CodePointSetData::new::<ExtendedPictographic>().contains(sign);
    let ends_picture = is_picture(before)
        || before == EMOJI_STYLE
        || CodePointSetData::new::<EmojiModifier>().contains(before);
    virama
        || after.is_some_and(|after| {
            (is_letter(before) && is_letter(after))
                || (sign == '\u{200D}' && ends_picture && is_picture(after))
        })
}

/// Whether a character is visible by itself. Marks are not, and blanks alone are no name.
fn stands_alone(sign: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(sign);
    is_seen(sign)
        && !sign.is_whitespace()
        && !matches!(
            category,
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark
        )
}

#[cfg(test)]
mod tests {
    use super::is_readable;

    #[test]
    fn names_of_every_script_and_emoji_are_readable() {
        for name in [
            "",
            "Crew 7",
            "Blaue Bücher\u{a0}GmbH",
            "e\u{301}quipe",
            "株式会社",
            "葛\u{E0100}城",
            "עברית",
            "نام\u{200C}های فارسی",
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "ক\u{9CD}\u{200C}ষ",
            "👩\u{200D}👩\u{200D}👧 Family",
            "👩🏽\u{200D}💻",
            "❤\u{FE0F}\u{200D}🔥",
            "🏳\u{FE0F}\u{200D}🌈",
            "☎\u{FE0E}",
            "1\u{FE0F}\u{20E3} first",
            "🇩🇪",
            "™ & Söhne",
        ] {
            assert!(is_readable(name), "{name:?}");
        }
    }

    #[test]
    fn what_cannot_be_seen_or_turns_text_is_in_no_name() {
        for sign in [
            '\0',
            '\n',
            '\t',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202b}',
            '\u{202c}',
            '\u{202d}',
            '\u{202e}',
            '\u{2060}',
            '\u{2061}',
            '\u{2064}',
            '\u{2065}',
            '\u{2066}',
            '\u{2067}',
            '\u{2068}',
            '\u{2069}',
            '\u{206a}',
            '\u{206f}',
            '\u{2800}',
            '\u{3164}',
            '\u{e000}',
            '\u{fdd0}',
            '\u{fe00}',
            '\u{fe0e}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{fffb}',
            '\u{fffc}',
            '\u{ffff}',
            '\u{13441}',
            '\u{16fe4}',
            '\u{1bca0}',
            '\u{1d159}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{f0000}',
            '\u{10ffff}',
        ] {
            for name in [
                sign.to_string(),
                format!("Te{sign}am"),
                format!("{sign}Team"),
                format!("Team{sign}"),
                format!("é{sign}é"),
                format!("команда {sign} имя"),
            ] {
                assert!(!is_readable(&name), "{name:?}");
            }
        }
        // Marks and blanks alone are invisible, and a digit has no style of its own.
        for name in [
            " ",
            "\u{3000}",
            "\u{301}",
            "\u{a0}\u{301}",
            "1\u{FE0F}",
            "😀\u{200D}",
        ] {
            assert!(!is_readable(name), "{name:?}");
        }
    }
}
