//! `cargo xtask tidy`: checks rules of this repository that the compiler does not know.
//!
//! A rule is a function from facts to complaints, so that its test can show it a bad case.

mod crate_dependencies;
mod doc_quotes;
mod features;
mod import_cycles;
mod migrations;
mod security_tests;
mod services;
mod text;

use crate::check_result::verdict;
use crate::source::below;
use std::path::Path;
use xtask_kit::cmd::Result;

pub(crate) fn tidy(root: &Path) -> Result {
    let files = below(root)?;
    let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();

    let mut complaints = crate_dependencies::check(&crate_dependencies::workspace_edges()?);
    complaints.extend(features::check(&features::chosen()?));
    complaints.extend(migrations::check(&paths));
    complaints.extend(doc_quotes::check(&files));
    complaints.extend(security_tests::check(&files));
    let graphs = import_cycles::graphs(&files)?;
    complaints.extend(import_cycles::check(&graphs));
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
