//! Checks that migrations have the same names for PostgreSQL and SQLite, and that each one has a `down.sql`.

use std::collections::BTreeSet;

pub(super) fn check(paths: &[&str]) -> Vec<String> {
    let of = |backend: &str| -> BTreeSet<String> {
        let inside = paths.iter().filter(|path| path.contains("migrations/"));
        let parts = inside.filter_map(|path| path.split_once(backend));
        parts
            .map(|(service, file)| format!("{service}/*/{file}"))
            .collect()
    };
    let (postgres, sqlite) = (of("/postgres/"), of("/sqlite/"));
    let alone = postgres.symmetric_difference(&sqlite);
    let alone = alone.map(|file| format!("{file} exists for one database only"));
    let ways = postgres
        .union(&sqlite)
        .filter_map(|file| file.strip_suffix("up.sql"));
    let back = ways.map(|folder| format!("{folder}down.sql"));
    let back = back.filter(|file| !postgres.contains(file) && !sqlite.contains(file));
    alone
        .chain(back.map(|file| format!("{file} is missing")))
        .collect()
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
    fn a_pair_with_ways_back_is_fine_and_less_is_not() {
        assert_eq!(check(&WHOLE), Vec::<String>::new());
        let complaints = check(&WHOLE[..2]);
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].ends_with("down.sql exists for one database only"));
        let complaints = check(&[WHOLE[0], WHOLE[2]]);
        assert_eq!(
            complaints,
            ["migrations/identity/*/0001_first/down.sql is missing"]
        );
    }
}
