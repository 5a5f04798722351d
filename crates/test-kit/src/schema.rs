use std::collections::BTreeSet;

use db_kit::{Db, DbError, Migrations};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use crate::{TestBackend, TestDb};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, QueryableByName)]
struct Column {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    column_name: String,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Bool)]
    required: bool,
}

#[derive(Debug, QueryableByName)]
struct Index {
    #[diesel(sql_type = Text)]
    name: String,
}

const POSTGRES_COLUMNS: &str = "SELECT table_name::text, column_name::text, \
    CASE data_type WHEN 'timestamp without time zone' THEN 'timestamp' WHEN 'bytea' THEN 'blob' ELSE data_type::text END AS kind, \
    is_nullable = 'NO' AS required FROM information_schema.columns WHERE table_schema = 'public'";
const POSTGRES_INDEXES: &str = "SELECT i.relname::text AS name FROM pg_index x \
    JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_namespace n ON n.oid = i.relnamespace \
    WHERE n.nspname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.oid)";
// A generated key is INTEGER in SQLite and BIGINT in PostgreSQL, and has 64 bits in both.
const SQLITE_COLUMNS: &str = "SELECT t.name AS table_name, c.name AS column_name, \
    CASE WHEN c.pk > 0 AND c.type = 'INTEGER' \
    AND (SELECT max(pk) FROM pragma_table_info(t.name)) = 1 THEN 'bigint' ELSE lower(c.type) END AS kind, \
    c.\"notnull\" OR c.pk > 0 AS required FROM sqlite_master t JOIN pragma_table_info(t.name) c \
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";
const SQLITE_INDEXES: &str =
    "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL";

/// Checks that a service's migrations create the same tables, columns and indexes in both databases. Runs only if there is a
/// PostgreSQL server; panics with the differences.
pub async fn assert_same_schema(migrations: Migrations) {
    if TestBackend::current() == TestBackend::Sqlite {
        return;
    }
    let postgres = TestDb::fresh("schema", migrations).await;
    let sqlite = TestDb::sqlite("schema");
    let pool = sqlite.pool(1);
    db_kit::migrations::run(&pool, migrations).expect("the migrations apply");
    let (here_columns, here_indexes) = read(&postgres, POSTGRES_COLUMNS, POSTGRES_INDEXES).await;
    let (there_columns, there_indexes) = read(&sqlite, SQLITE_COLUMNS, SQLITE_INDEXES).await;
    let differ: Vec<_> = here_columns.symmetric_difference(&there_columns).collect();
    assert!(
        differ.is_empty(),
        "columns of one database only: {differ:#?}"
    );
    let differ: Vec<_> = here_indexes.symmetric_difference(&there_indexes).collect();
    assert!(
        differ.is_empty(),
        "indexes of one database only: {differ:?}"
    );
}

async fn read(
    database: &TestDb,
    columns: &'static str,
    indexes: &'static str,
) -> (BTreeSet<Column>, BTreeSet<String>) {
    let work = move |db: &mut Db| {
        let columns: Vec<Column> = diesel::sql_query(columns).load(db)?;
        let indexes: Vec<Index> = diesel::sql_query(indexes).load(db)?;
        // Diesel's own table of migrations differs.
        let ours = columns
            .into_iter()
            .filter(|column| !column.table_name.starts_with("__"));
        let names = indexes.into_iter().map(|index| index.name);
        Ok::<_, DbError>((ours.collect(), names.collect()))
    };
    database.pool(1).read(work).await.expect("the schema reads")
}
