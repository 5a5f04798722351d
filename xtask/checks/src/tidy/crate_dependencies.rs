//! Checks which crates a crate may use.

use crate::dependencies::metadata;
use cargo_metadata::DependencyKind;
use xtask_kit::cmd::Result;

/// Each crate, and the crates of this workspace that it may use. A crate that is not listed may use none, and none may use
/// it.
const ALLOWED: [(&str, &str); 21] = [
    ("auth-types", ""),
    ("event-types", "auth-types"),
    ("db-kit", "auth-types event-types"),
    ("broker", "auth-types event-types db-kit"),
    ("service-kit", "auth-types event-types db-kit"),
    ("image-kit", ""),
    ("messages", ""),
    ("web-kit", "service-kit messages"),
    // It knows the services only by their HTTP interfaces, so that it can be taken out.
    ("dashboard", "event-types service-kit messages web-kit"),
    // None of these three may use another service: services communicate over HTTP and events.
    (
        "identity-service",
        "auth-types event-types db-kit broker service-kit image-kit messages web-kit",
    ),
    (
        "worksession-service",
        "auth-types event-types db-kit broker service-kit dashboard",
    ),
    (
        "notifier",
        "auth-types event-types db-kit broker service-kit messages",
    ),
    (
        "standalone",
        "auth-types event-types db-kit broker service-kit identity-service worksession-service notifier",
    ),
    (
        "test-kit",
        "auth-types event-types db-kit broker service-kit",
    ),
    // These know the product as programs and as sources.
    ("xtask-kit", ""),
    ("xtask", "xtask-kit"),
    ("xtask-fixtures", "xtask-kit"),
    ("xtask-suite", "xtask-kit xtask-fixtures"),
    ("xtask-checks", "xtask-kit xtask-fixtures"),
    ("xtask-e2e", "xtask-kit xtask-fixtures"),
    ("xtask-bench", "xtask-kit xtask-fixtures"),
];

/// A dependency between two crates of the workspace.
#[derive(Debug)]
pub(super) struct Edge {
    from: String,
    to: String,
    dev: bool,
}

/// Returns all dependencies between crates of the workspace, as cargo sees them.
pub(super) fn workspace_edges() -> Result<Vec<Edge>> {
    let metadata = metadata()?;
    let packages = metadata.workspace_packages();
    let names: Vec<&str> = packages.iter().map(|p| p.name.as_str()).collect();
    let edges = packages.iter().flat_map(|package| {
        let inside = package
            .dependencies
            .iter()
            .filter(|d| names.contains(&d.name.as_str()));
        inside.map(|dependency| Edge {
            from: package.name.to_string(),
            to: dependency.name.clone(),
            dev: dependency.kind == DependencyKind::Development,
        })
    });
    Ok(edges.collect())
}

pub(super) fn check(edges: &[Edge]) -> Vec<String> {
    edges.iter().filter_map(complaint).collect()
}

fn complaint(edge: &Edge) -> Option<String> {
    let Edge { from, to, dev } = edge;
    if to == "test-kit" {
        let wrong = !dev || from == "test-kit";
        return wrong.then(|| format!("{from} uses test-kit outside its tests"));
    }
    let allowed = ALLOWED
        .iter()
        .find(|(name, _)| name == from)
        .map(|(_, uses)| *uses);
    match allowed {
        None => Some(format!("{from} is not in the table of tidy/direction.rs")),
        Some(uses) if uses.split(' ').any(|used| used == to) => None,
        // A crate may test itself through its own library.
        Some(_) if *dev && from == to => None,
        Some(_) => Some(format!(
            "{from} must not use {to}: see the crates in docs/ARCHITECTURE.md"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, dev: bool) -> Edge {
        Edge {
            from: from.into(),
            to: to.into(),
            dev,
        }
    }

    #[test]
    fn what_points_upwards_or_sideways_is_found() {
        for (from, to) in [
            ("auth-types", "event-types"),
            ("db-kit", "service-kit"),
            ("service-kit", "broker"),
            ("identity-service", "worksession-service"),
            ("dashboard", "worksession-service"),
            ("identity-service", "dashboard"),
            ("notifier", "worksession-service"),
            ("worksession-service", "standalone"),
            ("xtask", "service-kit"),
            ("new-crate", "auth-types"),
        ] {
            assert_eq!(check(&[edge(from, to, false)]).len(), 1, "{from} -> {to}");
            assert_eq!(
                check(&[edge(from, to, true)]).len(),
                1,
                "{from} -> {to} in tests"
            );
        }
    }

    #[test]
    fn what_points_downwards_is_fine() {
        for (from, to) in [
            ("event-types", "auth-types"),
            ("broker", "db-kit"),
            ("notifier", "broker"),
            ("standalone", "notifier"),
            ("test-kit", "service-kit"),
        ] {
            assert!(check(&[edge(from, to, false)]).is_empty(), "{from} -> {to}");
        }
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        assert_eq!(check(&[edge("notifier", "test-kit", false)]).len(), 1);
        assert!(check(&[edge("notifier", "test-kit", true)]).is_empty());
    }

    #[test]
    fn the_workspace_has_edges_to_check() {
        assert!(
            workspace_edges()
                .unwrap()
                .iter()
                .any(|e| e.to == "auth-types")
        );
    }
}
