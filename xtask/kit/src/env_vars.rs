//! The environment that this tool reads, in one place.

use std::path::{Path, PathBuf};

/// Returns an environment variable, or `None` if it is unset, empty or not UTF-8.
pub fn var(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the tool reads its environment"
    )]
    let value = std::env::var(name);
    value.ok().filter(|v| !v.is_empty())
}

/// Returns the root of the checkout in which cargo was called. It is determined at run time, because a target folder that
/// several checkouts share may hold a program built in another one.
pub fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let start = var("CARGO_MANIFEST_DIR").map_or_else(|| here.clone(), PathBuf::from);
    let root = start
        .ancestors()
        .find(|dir| dir.join("xtask/Cargo.toml").is_file());
    root.map_or(here, Path::to_path_buf)
}

/// Returns cargo's target folder. On a build server it lies outside the checkout, so that the next checkout reuses it.
pub fn target_dir() -> PathBuf {
    if let Some(dir) = var("CARGO_TARGET_DIR") {
        return root().join(dir);
    }
    let cache = var("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(var("HOME")?).join(".cache")));
    match cache {
        Some(cache) if is_ci() => cache.join("holdfast/target"),
        _ => root().join("target"),
    }
}

/// Whether this runs on a build server.
pub fn is_ci() -> bool {
    var("CI").is_some_and(|v| v == "true")
}

/// Finds a program in `PATH`.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = var("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|p| p.is_file())
}
