//! What a PostgreSQL server spends its time on, by its own statistics.

use xtask_fixtures::servers::Postgres;
use xtask_kit::cmd::Result;

/// Prints the costliest statements of all databases on this server, with the microseconds of each.
pub(super) fn show(database: &str) -> Result {
    let asked = "SELECT datname, calls, round((total_exec_time + total_plan_time)::numeric), \
         round((1000 * total_exec_time / greatest(calls, 1))::numeric), \
         round((1000 * total_plan_time / greatest(calls, 1))::numeric), rows / greatest(calls, 1), \
         left(regexp_replace(query, '\\s+', ' ', 'g'), 150) \
         FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
         ORDER BY total_exec_time + total_plan_time DESC LIMIT 24";
    Postgres::execute(
        database,
        "CREATE EXTENSION IF NOT EXISTS pg_stat_statements",
    )?;
    println!(
        "\n{:<12} {:>7} {:>8} {:>8} {:>8} {:>6}  statement",
        "database", "calls", "total ms", "µs each", "to plan", "rows"
    );
    for row in Postgres::rows(database, asked)? {
        if let [name, calls, total, each, plan, rows, text] = row.as_slice() {
            println!("{name:<12} {calls:>7} {total:>8} {each:>8} {plan:>8} {rows:>6}  {text}");
        }
    }
    Ok(())
}
