//! Migrations stand side by side: the same names for PostgreSQL and SQLite, each with a way back.

use std::collections::{BTreeMap, BTreeSet};

/// `migrations/SERVICE/BACKEND/NAME/FILE`, wherever in the checkout that begins.
struct Place<'a> {
    service: &'a str,
    backend: &'a str,
    name: &'a str,
    file: &'a str,
}

pub(super) fn check(paths: &[&str]) -> Vec<String> {
    let mut names: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    let mut files: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for place in paths.iter().filter_map(|path| place(path)) {
        let Place {
            service,
            backend,
            name,
            file,
        } = place;
        names
            .entry(service)
            .or_default()
            .entry(backend)
            .or_default()
            .insert(name);
        files
            .entry(format!("{service}/{backend}/{name}"))
            .or_default()
            .insert(file);
    }
    let mut complaints = Vec::new();
    for (service, backends) in &names {
        let empty = BTreeSet::new();
        let postgres = backends.get("postgres").unwrap_or(&empty);
        let sqlite = backends.get("sqlite").unwrap_or(&empty);
        for name in postgres.symmetric_difference(sqlite) {
            complaints.push(format!(
                "{service}: migration {name} exists for one database only"
            ));
        }
    }
    for (migration, found) in &files {
        for file in ["up.sql", "down.sql"] {
            if !found.contains(file) {
                complaints.push(format!("{migration} has no {file}"));
            }
        }
    }
    complaints
}

fn place(path: &str) -> Option<Place<'_>> {
    let (before, after) = path.split_once("migrations/")?;
    let mut parts = after.split('/');
    let first = parts.next()?;
    let (service, backend) = match first {
        // crates/SERVICE/migrations/BACKEND/…
        "postgres" | "sqlite" => (before.trim_end_matches('/'), first),
        service => (service, parts.next()?),
    };
    let (name, file) = (parts.next()?, parts.next()?);
    matches!(backend, "postgres" | "sqlite").then_some(Place {
        service,
        backend,
        name,
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [&str; 4] = [
        "migrations/identity/postgres/0001_first/up.sql",
        "migrations/identity/postgres/0001_first/down.sql",
        "migrations/identity/sqlite/0001_first/up.sql",
        "migrations/identity/sqlite/0001_first/down.sql",
    ];

    #[test]
    fn a_pair_with_ways_back_is_fine() {
        assert_eq!(check(&WHOLE), Vec::<String>::new());
    }

    #[test]
    fn a_migration_for_one_database_is_found() {
        let complaints = check(&WHOLE[..2]);
        assert_eq!(
            complaints,
            ["identity: migration 0001_first exists for one database only"]
        );
    }

    #[test]
    fn a_migration_without_a_way_back_is_found() {
        assert_eq!(
            check(&WHOLE[..3]),
            ["identity/sqlite/0001_first has no down.sql"]
        );
    }

    #[test]
    fn migrations_inside_a_crate_are_seen() {
        let complaints = check(&["crates/notifier/migrations/sqlite/0001_first/up.sql"]);
        assert_eq!(complaints.len(), 2);
    }
}
