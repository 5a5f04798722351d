//! The result of a check.

use xtask_kit::cmd::{Result, fail};
use xtask_kit::env_vars;

/// Prints the complaints and fails with their number, or prints the good result.
pub(crate) fn verdict(check: &str, complaints: &[String], good: &str) -> Result {
    if complaints.is_empty() {
        println!("{check}: {good}");
        return Ok(());
    }
    for complaint in complaints {
        println!("{check}: {complaint}");
    }
    fail(format!("{check} found {} problems", complaints.len()))
}

/// Compares a file of the checkout with its new content, or writes it.
pub(crate) fn compare(check: &str, file: &str, now: &str, write: bool) -> Result {
    let path = env_vars::root().join(file);
    if write {
        std::fs::write(path, now)?;
        println!("{check}: wrote {file}");
    } else if std::fs::read_to_string(path).unwrap_or_default() != now {
        return fail(format!(
            "{file} is out of date: run `cargo xtask {check} --write`"
        ));
    }
    Ok(())
}
