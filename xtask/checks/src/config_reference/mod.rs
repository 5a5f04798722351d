//! `cargo xtask config`: compares docs/configuration.md with the configuration types.
//!
//! The types are read as text, so that the tool needs no service. Anything that cannot be read is a failure: a page on which
//! a key is missing would be worse than no page.

mod defaults;
mod keys;
mod page;
mod serde;
mod source;
#[cfg(test)]
mod tests;

use self::keys::{Keys, of_part};
use self::page::{Page, environment, row};
use self::source::{SHARED, Sources, text};
use crate::check_result::compare;
use std::path::Path;
use syn::{Expr, Item, Stmt};
use xtask_kit::cmd::{Result, fail};
use xtask_kit::env_vars::root;

/// A part: its crate, the prefix of its variables, and its title on the page.
struct Part {
    folder: &'static str,
    prefix: &'static str,
    title: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        folder: "identity-service",
        prefix: "IDENTITY",
        title: "The identity service",
    },
    Part {
        folder: "worksession-service",
        prefix: "WORKSESSION",
        title: "The work-session service",
    },
    Part {
        folder: "notifier",
        prefix: "NOTIFIER",
        title: "The notifier",
    },
];

/// The files that define the types.
const FILES: [(&str, &[&str]); 4] = [
    (
        SHARED,
        &[
            "config/mod.rs",
            "config/parts.rs",
            "data_dir.rs",
            "http/body.rs",
        ],
    ),
    (
        "identity-service",
        &[
            "config.rs",
            "config/accounts.rs",
            "config/limits.rs",
            "oauth/config.rs",
            "oauth/clients/config.rs",
        ],
    ),
    (
        "worksession-service",
        &["config.rs", "event_stream/config.rs"],
    ),
    ("notifier", &["config.rs"]),
];

const PAGE: &str = "docs/configuration.md";
/// The heading of the first part, and the heading after the last one.
const FIRST: &str = "## The identity service\n";
const BEHIND: &str = "## The standalone\n";

#[derive(clap::Args)]
pub(crate) struct ConfigOptions {
    /// Write the page instead of comparing it
    #[arg(long)]
    write: bool,
}

pub(crate) fn config(options: &ConfigOptions) -> Result {
    let root = root();
    let page = std::fs::read_to_string(root.join(PAGE))?;
    compare("config", PAGE, &describe(&root, &page)?, options.write)
}

/// Returns the page with new tables of the parts. The text before and after them is written by hand.
fn describe(root: &Path, page: &str) -> Result<String> {
    let sources = Sources::read(&root.join("crates"), &FILES)?;
    let around = page.split_once(FIRST).zip(page.split_once(BEHIND));
    let Some(((before, _), (_, behind))) = around else {
        return fail(format!("{PAGE} does not have both {FIRST} and {BEHIND}"));
    };
    let (mut made, mut names) = (Page::new(), Vec::new());
    for part in &PARTS {
        let keys = of_part(&sources, part.folder)?;
        check_secrets(&sources, part, &keys)?;
        write_part(&mut made, part, &keys);
        let own = keys.keys.iter();
        names.extend(own.map(|key| environment(part.prefix, &key.path)));
    }
    let is_other = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let mut words = before.split(is_other).chain(behind.split(is_other));
    let is_known = |word: &str| names.iter().any(|name| name.ends_with(word));
    if let Some(word) = words.find(|word| word.contains("__") && !is_known(word)) {
        return fail(format!(
            "{PAGE} names {word}, which is not a key of any part"
        ));
    }
    Ok(format!("{before}{}\n{BEHIND}{behind}", made.finish()))
}

fn write_part(page: &mut Page, part: &Part, keys: &Keys) {
    page.text(&format!("## {}", part.title));
    let rows: Vec<_> = keys
        .keys
        .iter()
        .map(|key| row(key, Some(part.prefix)))
        .collect();
    page.table(["variable", "value", "default", "meaning"], &rows);
    for tables in &keys.tables {
        let table = format!("{}.{}", part.prefix.to_lowercase(), tables.path.join("."));
        page.text(&format!("### `[[{table}]]`, in the file only"));
        // The comment begins with the table's name, which the heading already contains.
        let meaning = tables
            .meaning
            .split_once("]]`: ")
            .map_or(tables.meaning.as_str(), |it| it.1);
        page.text(&capitalised(meaning));
        let rows: Vec<_> = tables.keys.iter().map(|key| row(key, None)).collect();
        page.table(["key", "value", "default", "meaning"], &rows);
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

/// Checks that `…_FILE`, which the page promises for each secret, is read: that depends on the ending of the key's name.
fn check_secrets(sources: &Sources, part: &Part, keys: &Keys) -> Result {
    let endings = secret_endings(sources)?;
    for key in keys.keys.iter().filter(|key| key.is_secret) {
        let name = environment(part.prefix, &key.path);
        if !endings.iter().any(|ending| name.ends_with(ending.as_str())) {
            return fail(format!(
                "{name} is a secret, but {name}_FILE is not read: the name must end in one of {}",
                endings.join(", ")
            ));
        }
    }
    Ok(())
}

/// Returns the endings of names for which `…_FILE` is read.
fn secret_endings(sources: &Sources) -> Result<Vec<String>> {
    let mut statements = sources.get_fn(SHARED, "from_file")?.block.stmts.iter();
    let endings = statements.find_map(|statement| match statement {
        Stmt::Item(Item::Const(item)) if item.ident == "SECRET_ENDINGS" => match &*item.expr {
            Expr::Array(array) => array.elems.iter().map(text).collect(),
            _ => None,
        },
        _ => None,
    });
    match endings {
        Some(endings) => Ok(endings),
        None => fail(format!("{SHARED}: from_file has no list SECRET_ENDINGS")),
    }
}
