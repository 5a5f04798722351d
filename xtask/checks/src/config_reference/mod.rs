//! `cargo xtask config`: docs/configuration.md against the types that the configuration is read into.
//!
//! The types are read as text, so that the tool needs no service. What is not understood is a failure: a
//! key that is missing on the page would be worse than no page.

mod defaults;
mod keys;
mod outside;
mod page;
mod serde;
mod source;
#[cfg(test)]
mod tests;

use self::keys::{Keys, of_part};
use self::page::{Page, environment, row};
use self::source::{SHARED, Sources};
use std::path::Path;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::envs;

/// A part: its crate, the prefix of its variables, and what it is called on the page.
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

/// The files that the types stand in.
const FILES: [(&str, &[&str]); 5] = [
    (
        SHARED,
        &[
            "cli/mod.rs",
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
    ("worksession-service", &["config.rs", "live/config.rs"]),
    ("notifier", &["config.rs"]),
    ("standalone", &["config.rs"]),
];

const PAGE: &str = "docs/configuration.md";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the page instead of comparing it
    #[arg(long)]
    pub(crate) write: bool,
}

pub(crate) fn config(options: &Options) -> Result {
    let root = envs::root();
    let now = describe(&root)?;
    let path = root.join(PAGE);
    if options.write {
        std::fs::write(&path, now)?;
        println!("config: wrote {PAGE}");
    } else if std::fs::read_to_string(&path).unwrap_or_default() != now {
        return fail(format!(
            "{PAGE} is not what the code says: cargo xtask config --write"
        ));
    }
    Ok(())
}

fn describe(root: &Path) -> Result<String> {
    let sources = Sources::read(&root.join("crates"), &FILES)?;
    let mut parts = Vec::new();
    for part in &PARTS {
        parts.push((part, of_part(&sources, part.folder)?));
    }
    check_secrets(&sources, &parts)?;

    let mut page = Page::new();
    page.text(outside::BEGINNING);
    for (part, keys) in &parts {
        write_part(&mut page, part, keys);
    }
    outside::write_standalone(&mut page, &sources, &parts)?;
    outside::write_others(&mut page, &sources)?;
    Ok(page.finish())
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
        // The comment begins with the table's name, which has just been said.
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

/// `…_FILE` works by a key's name, and the page says that it does: each secret's name has to be one of those.
fn check_secrets(sources: &Sources, parts: &[(&Part, Keys)]) -> Result {
    let endings = outside::secret_endings(sources)?;
    for (part, keys) in parts {
        for key in keys.keys.iter().filter(|key| key.is_secret) {
            let name = environment(part.prefix, &key.path);
            if !endings.iter().any(|ending| name.ends_with(ending.as_str())) {
                return fail(format!(
                    "{name} is a secret, and {name}_FILE is not read: its name ends in none of {}",
                    endings.join(", ")
                ));
            }
        }
    }
    Ok(())
}
