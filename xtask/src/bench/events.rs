//! Events from worksession-service's outbox over RabbitMQ and the notifier to a chat that answers at once,
//! beside a bare publisher and bare consumers on the same broker, by turns.

use super::chat::{Chat, DIGITS, MARK};
use super::load;
use super::per_mille;
use super::product::{Crowd, System};
use crate::cmd::{Result, cargo, fail, nap, output, run};
use crate::servers::Postgres;
use crate::system;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The least part of the broker's own rate.
const LEAST: f64 = 0.5;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Events in a round
    #[arg(long, default_value_t = 60_000)]
    events: usize,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Projects, each with a hook of its own
    #[arg(long, default_value_t = 400)]
    projects: usize,
    /// Milliseconds between two messages to one hook; what comes meanwhile is joined into one
    #[arg(long, default_value_t = 1000)]
    interval_ms: u32,
    /// What the databases spent their time on, at the end
    #[arg(long)]
    statements: bool,
    /// Seconds that a round may take
    #[arg(long, default_value_t = 180)]
    patience: u64,
}

pub(crate) fn events(options: &Options) -> Result {
    system::build(
        true,
        &["identity-service", "worksession-service", "notifier"],
    )?;
    let bare = build_bare()?;
    let folder = tempfile::Builder::new()
        .prefix("holdfast-bench-")
        .tempdir()?;
    let chat = Chat::start()?;
    let mut system = System::services(folder.path(), options.interval_ms)?;
    let database = match system.databases.get("worksession") {
        Some(database) => database.clone(),
        None => return fail("no database"),
    };
    let crowd = Crowd::gather(&system, &chat, 1, options.projects)?;
    make_samples(&system, &crowd, &chat, &database)?;

    println!(
        "{:<6} {:>16} {:>16} {:>16} {:>7} {:>9}",
        "round", "bare published/s", "bare consumed/s", "notices/s", "ratio", "messages"
    );
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let url = system.broker()?.url.clone();
        let answer = output(Command::new(&bare).args([&url, &options.events.to_string()]))?;
        let mut figures = answer.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(published)), Some(Ok(consumed))) = (figures.next(), figures.next()) else {
            return fail(format!("the bare publisher says {answer:?}"));
        };
        let count = f64::from(u32::try_from(options.events)?);
        let (published, consumed) = (count / published, count / consumed);
        let before = chat.requests();
        let took = tell(options, &chat, &database, round)?;
        let rate = count / took.as_secs_f64();
        println!(
            "{round:<6} {published:>16.0} {consumed:>16.0} {rate:>16.0} {:>7.2} {:>9}",
            rate / consumed,
            chat.requests() - before
        );
        rates.push(rate);
        ratios.push(rate / consumed);
    }
    let (_, twice) = chat.accepted();
    rates.sort_by(f64::total_cmp);
    ratios.sort_by(f64::total_cmp);
    let (rate, ratio) = (per_mille(&rates, 500), per_mille(&ratios, 500));
    println!("median: {rate:.0} notices/s, {ratio:.2} of the bare rate; {twice} told twice");
    println!(
        "resident: worksession-service {:.1} MB, notifier {:.1} MB",
        system.resident_mb("worksession")?,
        system.resident_mb("notifier")?
    );
    if options.statements {
        show_statements(&database)?;
    }
    if ratio < LEAST {
        return fail(format!("less than {LEAST} of what the broker can do"));
    }
    Ok(())
}

/// The costliest statements of all databases, in milliseconds each.
fn show_statements(database: &str) -> Result {
    let asked = "SELECT datname, calls, round((total_exec_time + total_plan_time)::numeric), \
         round((total_exec_time / greatest(calls, 1))::numeric, 2), round((total_plan_time / greatest(calls, 1))::numeric, 2), rows / greatest(calls, 1), \
         left(regexp_replace(query, '\\s+', ' ', 'g'), 150) \
         FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
         ORDER BY total_exec_time + total_plan_time DESC LIMIT 24";
    Postgres::execute(database, "CREATE EXTENSION pg_stat_statements")?;
    println!(
        "\n{:<12} {:>7} {:>8} {:>8} {:>8} {:>6}  statement",
        "database", "calls", "total ms", "ms each", "to plan", "rows"
    );
    for row in Postgres::rows(database, asked)? {
        if let [name, calls, total, each, plan, rows, text] = row.as_slice() {
            println!("{name:<12} {calls:>7} {total:>8} {each:>8} {plan:>8} {rows:>6}  {text}");
        }
    }
    Ok(())
}

fn build_bare() -> Result<PathBuf> {
    run(cargo().args(["build", "--workspace", "--release", "--example", "bare"]))?;
    Ok(system::binary(true, "examples/bare"))
}

/// One real session and its real event for each project, to be multiplied.
fn make_samples(system: &System, crowd: &Crowd, chat: &Chat, database: &str) -> Result {
    let projects = crowd.projects.len();
    Postgres::execute(
        database,
        "CREATE TABLE sample_events AS TABLE outbox WITH NO DATA; \
         CREATE FUNCTION keep_sample() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN INSERT INTO sample_events SELECT new.*; RETURN new; END $$; \
         CREATE TRIGGER keep_sample AFTER INSERT ON outbox FOR EACH ROW \
         WHEN (new.routing_key = 'session.started.v1') EXECUTE FUNCTION keep_sample()",
    )?;
    // Numbers that no round uses.
    let first = 10_usize.pow(u32::try_from(DIGITS)?) - projects;
    let shots = crowd.starts(first, projects);
    load::fire(&system.worksession, shots, Duration::from_millis(20))?;
    let since = Instant::now();
    while chat.accepted().0 < projects {
        if since.elapsed() > Duration::from_secs(60) {
            return fail("the samples do not arrive");
        }
        nap(Duration::from_millis(50))?;
    }
    Postgres::execute(
        database,
        "DROP TRIGGER keep_sample ON outbox; \
         CREATE TABLE samples AS SELECT row_number() OVER () - 1 AS n, e.body::jsonb AS body, s.session_id \
         FROM sample_events e JOIN sessions s ON s.session_id = e.body::jsonb #>> '{data,session_id}'",
    )
}

/// Writes a round's events into the outbox in one transaction, and says how long it took until the chat had
/// the last of them.
fn tell(options: &Options, chat: &Chat, database: &str, round: usize) -> Result<Duration> {
    let (events, from) = (options.events, options.events * round);
    let projects = options.projects;
    // Ids as the product makes them, ever growing ones; of each session a row, because what becomes of its
    // notification is recorded beside it.
    let uuid = |variant: &str| {
        format!(
            "(SELECT substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || lpad(to_hex(i % 4096), 3, '0') || '-{variant}-' \
             || lpad(to_hex(i), 12, '0') FROM lpad(to_hex(1790000000000 + i / 4), 12, '0') AS t)"
        )
    };
    Postgres::execute(
        database,
        &format!(
            "DROP TABLE IF EXISTS round; \
             CREATE TABLE round AS SELECT i, {event} AS event_id, {session} AS session_id, samples.session_id AS sample, \
             jsonb_set(jsonb_set(jsonb_set(body, '{{data,planning_note}}', to_jsonb('{MARK}' || lpad(i::text, {DIGITS}, '0'))), \
             '{{id}}', to_jsonb({event})), '{{data,session_id}}', to_jsonb({session}))::text AS body \
             FROM generate_series({from}::bigint, {from} + {events} - 1) AS i JOIN samples ON samples.n = i % {projects}; \
             INSERT INTO sessions SELECT made.* FROM round JOIN sessions ON sessions.session_id = round.sample, \
             LATERAL jsonb_populate_record(sessions, jsonb_build_object('session_id', round.session_id, \
             'status', 'abandoned', 'ended_at', sessions.started_at)) AS made; \
             ANALYZE",
            event = uuid("8000"),
            session = uuid("8001"),
        ),
    )?;
    let wanted = chat.accepted().0 + events;
    // One statement, one transaction: all of it is there at once.
    Postgres::execute(
        database,
        "INSERT INTO outbox (id, exchange, routing_key, body, created_at) \
         SELECT event_id, 'work.events', 'session.started.v1', body, now() AT TIME ZONE 'utc' FROM round",
    )?;
    let committed = Instant::now();
    while chat.accepted().0 < wanted {
        if committed.elapsed() > Duration::from_secs(options.patience) {
            let (delivered, _) = chat.accepted();
            return fail(format!("{} notices are missing", wanted - delivered));
        }
        nap(Duration::from_millis(5))?;
    }
    Ok(committed.elapsed())
}
