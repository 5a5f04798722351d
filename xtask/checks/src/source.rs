//! The text files of a folder.

use std::path::Path;
use xtask_kit::cmd::Result;

/// Folders without files of this repository.
const SKIPPED: [&str; 4] = [".git", "target", "data", "node_modules"];

/// A text file: its path from the folder, with `/`, and its text.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns all text files of a folder in order, except those in skipped folders.
pub(crate) fn below(folder: &Path) -> Result<Vec<Source>> {
    let mut files = Vec::new();
    collect(folder, folder, &mut files)?;
    Ok(files)
}

fn collect(root: &Path, dir: &Path, files: &mut Vec<Source>) -> Result {
    let mut entries = std::fs::read_dir(dir)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            let name = entry.file_name();
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                collect(root, &path, files)?;
            }
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let path = path
                .strip_prefix(root)?
                .to_string_lossy()
                .replace('\\', "/");
            files.push(Source { path, text });
        }
    }
    Ok(())
}
