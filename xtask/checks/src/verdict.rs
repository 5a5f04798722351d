//! What a check says when it is done.

use xtask_kit::cmd::{Result, fail};
use xtask_kit::envs;

/// Prints what is wrong, and fails with how much that is; else says what is good.
pub(crate) fn verdict(check: &str, complaints: &[String], good: &str) -> Result {
    if complaints.is_empty() {
        println!("{check}: {good}");
        return Ok(());
    }
    for complaint in complaints {
        println!("{check}: {complaint}");
    }
    fail(format!("{check} found {} places", complaints.len()))
}

/// Compares a file of the checkout with what the code says now, or writes it.
pub(crate) fn compare(check: &str, file: &str, now: &str, write: bool) -> Result {
    let path = envs::root().join(file);
    if write {
        std::fs::write(path, now)?;
        println!("{check}: wrote {file}");
    } else if std::fs::read_to_string(path).unwrap_or_default() != now {
        return fail(format!(
            "{file} is not what the code says: cargo xtask {check} --write"
        ));
    }
    Ok(())
}
