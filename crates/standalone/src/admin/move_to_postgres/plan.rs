//! What to copy, from the catalogs of both databases.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::ColumnType;
use super::queries::{Column, Reference};

/// A table with its columns in the order of PostgreSQL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Its name in both databases.
    pub(super) name: String,
    /// Its columns and their types.
    pub(super) columns: Vec<(String, ColumnType)>,
    /// Columns that count up, and their sequences.
    pub(super) sequences: Vec<(String, String)>,
}

/// Returns the tables in an order in which rows find those that they refer to.
///
/// # Errors
/// A sentence when one database has a table or a column that the other lacks, or a column of an unknown type.
pub(super) fn tables(
    sqlite: &BTreeMap<String, BTreeSet<String>>,
    postgres: Vec<Column>,
    references: &[Reference],
) -> Result<Vec<Table>, String> {
    let mut found: BTreeMap<String, Table> = BTreeMap::new();
    for column in postgres {
        let Column {
            table_name,
            column_name,
            data_type,
            sequence,
        } = column;
        let Some(kind) = ColumnType::from_sql(&data_type) else {
            return Err(format!(
                "{table_name}.{column_name} has the type {data_type}, which this command does not know"
            ));
        };
        let table = found.entry(table_name.clone()).or_insert_with(|| Table {
            name: table_name,
            columns: Vec::new(),
            sequences: Vec::new(),
        });
        if let Some(sequence) = sequence {
            table.sequences.push((column_name.clone(), sequence));
        }
        table.columns.push((column_name, kind));
    }
    let there: BTreeMap<String, BTreeSet<String>> = found
        .iter()
        .map(|(name, table)| {
            let columns = table.columns.iter().map(|(column, _)| column.clone());
            (name.clone(), columns.collect())
        })
        .collect();
    if there != *sqlite {
        return Err(difference(sqlite, &there));
    }
    in_order(found, references)
}

fn difference(
    sqlite: &BTreeMap<String, BTreeSet<String>>,
    postgres: &BTreeMap<String, BTreeSet<String>>,
) -> String {
    let flat = |tables: &BTreeMap<String, BTreeSet<String>>| -> BTreeSet<String> {
        let columns = tables.iter().flat_map(|(table, columns)| {
            columns
                .iter()
                .map(move |column| format!("{table}.{column}"))
        });
        columns.collect()
    };
    let (here, there) = (flat(sqlite), flat(postgres));
    let differing: Vec<&str> = here
        .symmetric_difference(&there)
        .map(String::as_str)
        .take(5)
        .collect();
    format!(
        "the SQLite file and the PostgreSQL database have different columns: {}",
        differing.join(", ")
    )
}

/// Puts each table behind those that it refers to.
fn in_order(
    mut tables: BTreeMap<String, Table>,
    references: &[Reference],
) -> Result<Vec<Table>, String> {
    let mut ordered = Vec::new();
    while !tables.is_empty() {
        let waits = |name: &str| {
            references
                .iter()
                .any(|it| it.from_table == name && tables.contains_key(&it.to_table))
        };
        let Some(next) = tables.keys().find(|name| !waits(name)).cloned() else {
            let names: Vec<&str> = tables.keys().map(String::as_str).collect();
            return Err(format!(
                "the tables {} refer to each other",
                names.join(", ")
            ));
        };
        ordered.extend(tables.remove(&next));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(table: &str, name: &str, data_type: &str) -> Column {
        Column {
            table_name: table.into(),
            column_name: name.into(),
            data_type: data_type.into(),
            sequence: None,
        }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("a", "b_id", "bigint"),
            column("b", "id", "bigint"),
            column("b", "name", "text"),
        ]
    }

    fn sqlite(columns: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let tables = columns.iter().map(|(table, columns)| {
            let columns = columns.iter().map(|it| (*it).to_owned()).collect();
            ((*table).to_owned(), columns)
        });
        tables.collect()
    }

    fn reference(from: &str, to: &str) -> Reference {
        Reference {
            from_table: from.into(),
            to_table: to.into(),
        }
    }

    #[test]
    fn a_table_comes_behind_those_it_refers_to() {
        let sqlite = sqlite(&[("a", &["b_id"]), ("b", &["name", "id"])]);
        let tables = tables(&sqlite, columns(), &[reference("a", "b")]).expect("a plan");
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let error = super::tables(
            &sqlite,
            columns(),
            &[reference("a", "b"), reference("b", "a")],
        );
        assert!(error.expect_err("a circle").contains("refer to each other"));
    }

    #[test]
    fn a_table_or_a_column_of_one_database_only_stops_the_move() {
        for (sqlite, missing) in [
            (sqlite(&[("a", &["b_id"]), ("b", &["id"])]), "b.name"),
            (sqlite(&[("b", &["name", "id"])]), "a.b_id"),
            (
                sqlite(&[("a", &["b_id"]), ("b", &["name", "id"]), ("c", &["x"])]),
                "c.x",
            ),
        ] {
            let error = tables(&sqlite, columns(), &[]).expect_err("differ");
            assert!(error.contains(missing), "{error}");
        }
    }

    #[test]
    fn a_column_of_an_unknown_type_stops_the_move() {
        let error = tables(&BTreeMap::new(), vec![column("a", "x", "numeric")], &[]);
        assert!(
            error
                .expect_err("unknown")
                .contains("a.x has the type numeric")
        );
    }
}
