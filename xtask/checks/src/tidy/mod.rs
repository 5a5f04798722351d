//! `cargo xtask tidy`: checks rules of this repository that the compiler does not know.
//!
//! A rule is a function from facts to complaints, so that its test can show it a bad case.

mod circles;
mod direction;
mod features;
mod migrations;
mod proofs;
mod quotes;
mod services;
mod text;

use crate::source::below;
use crate::verdict::verdict;
use std::path::Path;
use xtask_kit::cmd::Result;

pub(crate) fn tidy(root: &Path) -> Result {
    let files = below(root)?;
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
    verdict(
        "tidy",
        &complaints,
        &format!("{} files, no complaints", files.len()),
    )
}
