//! Checks that each test that docs/security.md names, as `` `crate module::test` ``, is in a file of that crate and module.

use crate::source::Source;

const DOCUMENT: &str = "docs/security.md";

pub(super) fn check(files: &[Source]) -> Vec<String> {
    let document = files.iter().find(|file| file.path == DOCUMENT);
    let lines = document
        .into_iter()
        .flat_map(|document| document.text.lines());
    lines
        .zip(1..)
        // Every second part is between backticks.
        .flat_map(|(line, n)| line.split('`').skip(1).step_by(2).map(move |code| (n, code)))
        .filter(|(_, code)| exists(files, code) == Some(false))
        .map(|(n, code)| format!("{DOCUMENT}:{n} names {code}, which does not exist"))
        .collect()
}

/// Whether the test exists; `None` if this names no test.
fn exists(files: &[Source], code: &str) -> Option<bool> {
    let (krate, path) = code.split_once(' ')?;
    let (module, test) = path.rsplit_once("::")?;
    let folders = [format!("crates/{krate}/"), format!("{krate}/")];
    let module = format!("/{}", module.replace("::", "/"));
    let signature = format!("fn {test}(");
    Some(files.iter().any(|file| {
        folders.iter().any(|folder| file.path.starts_with(folder))
            && file.path.contains(&module)
            && file.text.contains(&signature)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_and_not_there_is_found() {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let complaints = |row: &str| {
            check(&[
                source(DOCUMENT, &format!("# Security\n| 1.1 | {row}, why |\n")),
                source("crates/a-kit/tests/it/b/c.rs", "async fn it_holds() {}\n"),
                source("xtask/src/d.rs", "    fn it_is_found() {}\n"),
            ])
        };
        let good = "`a-kit b::c::it_holds`, `xtask d::it_is_found`. `cargo xtask sbom`";
        assert!(complaints(good).is_empty());
        for bad in [
            "a-kit b::c::it",
            "a-kit d::it_holds",
            "b-kit b::c::it_holds",
        ] {
            let expected = format!("docs/security.md:2 names {bad}, which does not exist");
            assert_eq!(complaints(&format!("{good} `{bad}`")), [expected]);
        }
    }
}
