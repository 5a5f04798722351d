//! Holds the message files against the sources that use them.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use messages::t;
use regex_lite::Regex;

/// The crates with texts that people see.
const CRATES: [&str; 5] = [
    "dashboard",
    "identity-service",
    "messages",
    "notifier",
    "web-kit",
];

/// What a template may say in every language.
const NAMES: [&str; 7] = [
    "Holdfast",
    "https",
    "abc:example.org",
    "min",
    "ES256",
    "RS256",
    "openid profile email",
];

type Placeholders = BTreeSet<String>;

#[test]
fn sources_and_message_files_name_the_same_messages_and_placeholders() {
    let messages = messages();
    let mut literals = BTreeSet::new();
    let mut faults = Vec::new();
    let literal = Regex::new(r#""([a-z]+(?:-[a-z0-9]+)+)""#).unwrap();
    let call = Regex::new(r#"\bt\(\s*"([^"]*)"\s*,?\s*\)"#).unwrap();
    for (path, source) in sources(&["rs", "html", "txt"]) {
        literals.extend(
            literal
                .captures_iter(&source)
                .map(|found| found[1].to_owned()),
        );
        for found in call.captures_iter(&source) {
            let given = arguments(&source[found.get(0).unwrap().end()..]);
            match messages.get(&found[1]) {
                None => faults.push(format!("{}: no message {}", path.display(), &found[1])),
                Some(wanted) if *wanted != given => faults.push(format!(
                    "{}: {} has the placeholders {wanted:?}, not {given:?}",
                    path.display(),
                    &found[1]
                )),
                Some(_) => {}
            }
        }
    }
    let unused = messages.keys().filter(|id| !literals.contains(*id));
    faults.extend(unused.map(|id| format!("{id} is not used")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_message_is_in_the_file_that_its_id_begins_with() {
    for (area, text) in files() {
        for id in ids(&text) {
            assert!(id.starts_with(&format!("{area}-")), "{id} is in {area}.ftl");
        }
    }
    let count: usize = files().iter().map(|(_, text)| ids(text).len()).sum();
    assert_eq!(count, messages().len(), "an id stands twice");
}

#[test]
fn templates_have_no_texts_of_their_own() {
    let dynamic =
        Regex::new(r"(?s)\{% block width %\}\w*|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}").unwrap();
    let code =
        Regex::new(r"(?s)<(?:style|script|code).*?</(?:style|script|code)>|<!--.*?-->|&[a-z]+;")
            .unwrap();
    let shown = Regex::new(r#"\b(?:aria-label|title|placeholder|alt)="([^"]*)""#).unwrap();
    let tag = Regex::new(r"(?s)<[^>]*>").unwrap();
    let word = Regex::new(r"[A-Za-z]{2,}").unwrap();
    let mut faults = Vec::new();
    for (path, source) in sources(&["html", "txt"]) {
        if path
            .components()
            .all(|part| part.as_os_str() != "templates")
        {
            continue;
        }
        let fixed = dynamic.replace_all(&source, "");
        let fixed = code.replace_all(&fixed, "");
        let attributes = shown.captures_iter(&fixed).map(|found| found[1].to_owned());
        let mut texts: Vec<String> = attributes.collect();
        texts.push(tag.replace_all(&fixed, "\n").into_owned());
        for line in texts.iter().flat_map(|text| text.lines()) {
            let line = NAMES
                .iter()
                .fold(line.to_owned(), |line, name| line.replace(name, ""));
            if word.is_match(&line) {
                faults.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn code_of_pages_has_no_sentences_of_its_own() {
    let sentence = Regex::new(
        r#""((?:[^"\\\n]|\\.)*[A-Za-z]{2,},? (?:[^"\\\n]|\\.)*[A-Za-z]{2,}(?:[^"\\\n]|\\.)*)""#,
    )
    .unwrap();
    // Markup, SQL, and what only the log, an error or a developer reads.
    let internal = Regex::new(
        r#"log::|\b(?:error|warn|info|debug)!|expect\(|reason = |const SEAL_CONTEXT|navailable\(|"Samsung|"Mac OS|#\[|^\s*//|Error::|aria-|form-action"#,
    )
    .unwrap();
    let mut faults = Vec::new();
    for (path, source) in sources(&["rs"]) {
        let is_page = path.components().any(|part| part.as_os_str() == "pages");
        if !(path.starts_with(beside("dashboard")) || is_page) {
            continue;
        }
        let code = source
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        for line in code.lines().filter(|line| !internal.is_match(line)) {
            if let Some(found) = sentence.captures(line) {
                faults.push(format!("{}: {}", path.display(), &found[1]));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Chat messages are not escaped, because they contain escaped names.
#[test]
fn chat_messages_have_no_markup() {
    let syntax = Regex::new(r"(?m)^#.*|\{ \$[a-z]+(?: \}| ->)|^ *\*?\[[a-z]+\]").unwrap();
    let markup = Regex::new(r"[*_~`#@&'<>\[\]]").unwrap();
    let chat = files()
        .into_iter()
        .find(|(area, _)| area == "chat")
        .unwrap();
    let texts = syntax.replace_all(&chat.1, "");
    let found = markup.find(&texts).map(|found| found.as_str());
    assert_eq!(found, None, "in {texts}");
}

#[test]
fn every_number_has_a_plural_form() {
    let points = |count: f64| t("sessions-points-earned").with("count", count).to_string();
    assert_eq!([1.0, 1.5].map(points), ["point", "points"]);
    let unusual = [f64::NAN, f64::INFINITY, f64::MIN, f64::MIN_POSITIVE];
    assert_eq!(unusual.map(points), ["points"; 4]);
}

/// Returns the names in the calls of `with` at the start of a text.
fn arguments(mut rest: &str) -> Placeholders {
    let with = Regex::new(r#"^\s*\.with\(\s*"([a-z_]+)""#).unwrap();
    let mut names = BTreeSet::new();
    while let Some(found) = with.captures(rest) {
        names.insert(found[1].to_owned());
        let mut depth = 0;
        let end = rest.char_indices().find(|(_, character)| {
            depth += match character {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0 && *character == ')'
        });
        rest = end.map_or("", |(at, _)| &rest[at + 1..]);
    }
    names
}

/// Returns all messages with their placeholders.
fn messages() -> BTreeMap<String, Placeholders> {
    let mut all = BTreeMap::new();
    for (area, text) in files() {
        let resource = fluent_syntax::parser::parse(text.as_str());
        let resource = resource.unwrap_or_else(|(_, errors)| panic!("{area}.ftl: {errors:?}"));
        for entry in &resource.body {
            if let Entry::Message(message) = entry {
                let mut found = BTreeSet::new();
                let pattern = message.value.as_ref().expect("a message has a text");
                collect(pattern, &mut found);
                all.insert(message.id.name.to_owned(), found);
            }
        }
    }
    all
}

fn collect(pattern: &Pattern<&str>, found: &mut Placeholders) {
    let mut inline = |expression: &InlineExpression<&str>| match expression {
        InlineExpression::VariableReference { id } => {
            found.insert(id.name.to_owned());
        }
        InlineExpression::StringLiteral { .. } | InlineExpression::NumberLiteral { .. } => {}
        other => panic!("{other:?} is more than our messages need"),
    };
    let mut variants = Vec::new();
    for element in &pattern.elements {
        match element {
            PatternElement::Placeable {
                expression: Expression::Inline(expression),
            } => inline(expression),
            PatternElement::Placeable {
                expression:
                    Expression::Select {
                        selector,
                        variants: all,
                    },
            } => {
                inline(selector);
                variants.extend(all);
            }
            PatternElement::TextElement { .. } => {}
        }
    }
    for variant in variants {
        collect(&variant.value, found);
    }
}

fn ids(text: &str) -> Vec<String> {
    let id = Regex::new(r"(?m)^([a-z][a-z0-9-]*) =").unwrap();
    id.captures_iter(text)
        .map(|found| found[1].to_owned())
        .collect()
}

/// Returns each message file of English with its area.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("en"),
        &["ftl"],
        &mut files,
    );
    let named = files.into_iter().map(|(path, text)| {
        let area = path.file_stem().unwrap().to_str().unwrap();
        (area.to_owned(), text)
    });
    named.collect()
}

fn sources(extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for name in CRATES {
        for folder in ["src", "templates"] {
            collect_files(&beside(name).join(folder), extensions, &mut files);
        }
    }
    files
}

fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join(name)
}

fn collect_files(folder: &Path, extensions: &[&str], files: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            collect_files(&path, extensions, files);
        } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
            let text = fs::read_to_string(&path).unwrap();
            files.push((path, text));
        }
    }
}
