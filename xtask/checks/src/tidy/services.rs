//! Checks that no feature of a service imports another feature's `service.rs`: what two features need belongs below both.
//!
//! Features are the folders of `src` except those of commands and pages, which are above, as is the code that starts a service.

use super::import_cycles::Graph;

/// The files and folders of `src` above the features.
const ABOVE: [&str; 6] = ["app.rs", "cli", "lib.rs", "main.rs", "pages", "running.rs"];

pub(super) fn check(graphs: &[Graph]) -> Vec<String> {
    let imports = graphs.iter().flat_map(Graph::imports);
    let across = imports.filter(|(from, to, _)| {
        let (from, to) = (feature(from), feature(to));
        from != to && from.is_some_and(|from| !ABOVE.contains(&from))
    });
    let of_services = across.filter(|(_, to, _)| to.ends_with("/service.rs"));
    let tell =
        |(from, to, path)| format!("{from} imports {path} of {to}, another feature's service");
    of_services.map(tell).collect()
}

/// Returns the first part of a path below `src`.
fn feature(file: &str) -> Option<&str> {
    file.split_once("/src/")?.1.split('/').next()
}

#[cfg(test)]
mod tests {
    use super::super::import_cycles;
    use super::*;
    use crate::source::Source;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let files = [
            (
                "lib.rs",
                "mod carts; mod orders; mod pages; mod running; mod state;",
            ),
            (
                "carts/mod.rs",
                "mod service; pub(crate) use service::empty;",
            ),
            ("carts/service.rs", "pub(crate) fn empty() {}"),
            ("orders/mod.rs", "mod deep; mod routes;"),
            (path, text),
        ];
        let files = files.map(|(path, text)| Source {
            path: format!("crates/shop/src/{path}"),
            text: text.to_owned(),
        });
        check(&import_cycles::graphs(&files).expect("Rust"))
    }

    #[test]
    fn a_service_is_not_imported_by_another_feature_by_whatever_path() {
        for text in [
            "use crate::carts::service; fn f() { service::empty() }",
            "use crate::carts; fn f() { carts::empty() }",
            "fn f() { crate::carts::service::empty() }",
        ] {
            for path in ["orders/routes.rs", "orders/deep.rs", "state.rs"] {
                assert_eq!(complaints(path, text).len(), 1, "{path}: {text}");
            }
            for path in ["running.rs", "pages/mod.rs", "carts/routes.rs"] {
                assert!(complaints(path, text).is_empty(), "{path}: {text}");
            }
        }
        let test = "#[cfg(test)] mod tests { use crate::carts::empty; }";
        assert!(complaints("orders/routes.rs", test).is_empty());
    }
}
