//! `cargo xtask tidy`: rules of this repository that the compiler does not know.
//!
//! A rule is a function from facts to complaints, so that its test can show it a bad case.

mod circles;
mod direction;
mod features;
mod migrations;
mod proofs;
mod quotes;
mod services;
mod source;
mod text;

use source::Source;
use std::path::Path;
use xtask_kit::cmd::{Result, fail};

/// Directories that hold nothing we wrote.
const SKIPPED: [&str; 4] = [".git", "target", "data", "node_modules"];

pub(crate) fn tidy(root: &Path) -> Result {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();

    let mut complaints = direction::check(&direction::workspace_edges()?);
    complaints.extend(features::check(&features::chosen()?));
    complaints.extend(migrations::check(&paths));
    complaints.extend(quotes::check(&files));
    complaints.extend(proofs::check(&files));
    let graphs = circles::graphs(&files)?;
    complaints.extend(circles::check(&graphs));
    complaints.extend(services::check(&graphs));
    for file in &files {
        complaints.extend(text::check(file));
    }
    if complaints.is_empty() {
        println!("tidy: {} files, nothing to say", files.len());
        return Ok(());
    }
    for complaint in &complaints {
        println!("tidy: {complaint}");
    }
    fail(format!("tidy found {} places", complaints.len()))
}

fn collect(root: &Path, dir: &Path, files: &mut Vec<Source>) -> Result {
    let mut entries = std::fs::read_dir(dir)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let path = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .to_string_lossy()
                .replace('\\', "/");
            files.push(Source { path, text });
        }
    }
    Ok(())
}
