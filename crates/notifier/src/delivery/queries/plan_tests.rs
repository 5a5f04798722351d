#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use db_kit::{Db, DbError};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use test_kit::TestDb;

#[derive(QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    line: String,
}

/// Rows of both tables, few enough that a join with all of them is the cheapest plan.
const FEW_ROWS: &str = "
    INSERT INTO deliveries
    SELECT i, 'chat', 'plan', i, 1, i, NULL, NULL, '', 'pending', 0, 0, 0, now(), now(), NULL, NULL, now(), NULL
    FROM generate_series(1, 10) AS i;
    INSERT INTO destinations SELECT 'chat', i, 1, 'active', '', 0, NULL, now(), now(), NULL, now() FROM generate_series(1, 10) AS i;
    ANALYZE";

/// The statements by id, and arguments.
const STATEMENTS: [(&str, &str); 2] = [
    (
        include_str!("record_end.postgres.sql"),
        "'delivered', NULL, now(), true, '[\"1\"]'",
    ),
    (
        include_str!("record_start.postgres.sql"),
        r#"'[{"id":"1","message_id":"1"}]'"#,
    ),
];

/// A connection keeps the plan that it made while a table was small.
#[tokio::test]
async fn a_plan_made_for_few_rows_looks_them_up_by_their_ids() {
    let db = TestDb::fresh("plans", crate::MIGRATIONS).await;
    let pool = db.pool(1);
    let plans = pool.write_tx::<_, DbError, _>(|db| {
        let Db::Pg(conn) = db else {
            return Ok(Vec::new());
        };
        conn.batch_execute(FEW_ROWS)?;
        conn.batch_execute("SET LOCAL plan_cache_mode = force_generic_plan")?;
        let mut plans = Vec::new();
        for (text, arguments) in STATEMENTS {
            conn.batch_execute(&format!("PREPARE kept AS {text}"))?;
            let explain = format!("EXPLAIN (COSTS OFF) EXECUTE kept ({arguments})");
            let lines: Vec<PlanLine> = diesel::sql_query(explain).load(conn)?;
            let lines: Vec<_> = lines.into_iter().map(|line| line.line).collect();
            plans.push(lines.join("\n"));
            conn.batch_execute("DEALLOCATE kept")?;
        }
        Ok(plans)
    });
    for plan in plans.await.unwrap() {
        let mut lines = plan.lines();
        let looks_up = lines.any(|line| line.contains("Index Cond") && line.contains("= ANY ("));
        assert!(looks_up, "{plan}");
    }
}
