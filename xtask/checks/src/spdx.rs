//! A licence expression (SPDX: `AND`, `OR`, `WITH`, brackets, the old `/`) against a list.

/// Whether what the expression allows can be used under licences of `allowed` alone.
/// What does not parse is not allowed.
pub(crate) fn satisfied(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut tokens: Vec<&str> = spaced.split_whitespace().rev().collect();
    either(&mut tokens, allowed) == Some(true) && tokens.is_empty()
}

// Tokens stand in reverse: `pop` takes the next one.
fn either(tokens: &mut Vec<&str>, allowed: &[&str]) -> Option<bool> {
    let mut value = both(tokens, allowed)?;
    while tokens.last() == Some(&"OR") {
        tokens.pop();
        value |= both(tokens, allowed)?;
    }
    Some(value)
}

fn both(tokens: &mut Vec<&str>, allowed: &[&str]) -> Option<bool> {
    let mut value = one(tokens, allowed)?;
    while tokens.last() == Some(&"AND") {
        tokens.pop();
        value &= one(tokens, allowed)?;
    }
    Some(value)
}

fn one(tokens: &mut Vec<&str>, allowed: &[&str]) -> Option<bool> {
    let token = tokens.pop()?;
    match token {
        "(" => {
            let value = either(tokens, allowed)?;
            (tokens.pop() == Some(")")).then_some(value)
        }
        ")" | "AND" | "OR" | "WITH" => None,
        licence => {
            // An exception only ever gives more rights than the licence it stands with.
            if tokens.last() == Some(&"WITH") {
                tokens.pop();
                tokens.pop()?;
            }
            Some(allowed.contains(&licence))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    const OURS: [&str; 3] = ["MIT", "Apache-2.0", "ISC"];

    #[test]
    fn one_good_choice_is_enough_and_every_part_is_needed() {
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "MIT AND ISC",
            "ISC AND (MIT OR GPL-3.0)",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "GPL-3.0 OR MIT AND ISC",
        ] {
            assert!(satisfied(good, &OURS), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND GPL-3.0",
            "GPL-3.0 WITH Classpath-exception-2.0",
            "GPL-3.0 OR MIT AND LGPL-3.0",
        ] {
            assert!(!satisfied(bad, &OURS), "{bad}");
        }
    }

    #[test]
    fn what_does_not_parse_is_refused() {
        for bad in [
            "", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "WITH MIT",
        ] {
            assert!(!satisfied(bad, &OURS), "{bad}");
        }
    }
}
