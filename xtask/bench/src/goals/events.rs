//! Events from worksession-service's outbox through RabbitMQ and the notifier to a chat that answers at once. A bare
//! publisher and a bare consumer on the same broker take turns with them.

use super::measurement::GoalOptions;
use super::{memory, statements};
use crate::environment::BenchEnvironment;
use crate::load;
use crate::percentile::per_mille;
use crate::results_table::{Goal, ResultRow, Sample, Unit};
use crate::users::LoadUsers;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use xtask_fixtures::fake_chat::{Chat, DIGITS, MARK};
use xtask_fixtures::servers::Postgres;
use xtask_kit::cmd::{Context, Result, came_true, fail, nap, output};
use xtask_kit::system;

/// The part of a round's events, in per cent, whose rate counts, for the product and for the bare pair. Before it the relay,
/// which other writers do not wake, has not found the events yet; after it only hooks that wait for their interval are left.
const SUSTAINED: std::ops::Range<usize> = 5..95;

/// The messages that a bare consumer acknowledges at once in the faster comparison. By default it acknowledges each one.
const ACKNOWLEDGED: usize = 500;

/// The events a second that the product must deliver to chats.
const PROMISED: f64 = 3_000.0;

/// The longest time of a round.
const PATIENCE: Duration = Duration::from_secs(180);
/// The share of the pair's rate at which single events are timed, and the users who start sessions at that rate.
const STEADY_PART: f64 = 0.1;
const STEADY_USERS: usize = 2_000;
/// Projects with hooks, and an interval of the hooks that is so short that no event waits for it.
const STEADY_PROJECTS: usize = 100;
const STEADY_INTERVAL_MS: u32 = 10;

pub(super) fn events(options: &GoalOptions) -> Result<Vec<ResultRow>> {
    let bare = system::binary(true, "examples/bare");
    let (latency, busy) = steady(options, &bare)?;
    let chat = Chat::start()?;
    let hooks = &options.hooks;
    let mut scene = BenchEnvironment::services(hooks.interval_ms)?;
    let database = scene.database("worksession")?.to_owned();
    let crowd = LoadUsers::gather(&scene, &chat, 1, hooks.projects)?;
    make_samples(&scene, &crowd, &chat, &database)?;
    let (mut samples, mut beside_many) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let broker = scene.broker()?.url.clone();
        let each = consumed(&bare, &broker, options.events, 1)?;
        let many = consumed(&bare, &broker, options.events, ACKNOWLEDGED)?;
        let before = chat.requests();
        let took = tell(options, &chat, &database, round)?;
        let rate = sustained(options.events)? / took.as_secs_f64();
        println!(
            "events, round {}: {rate:.0}/s of {each:.0}/s and {many:.0}/s, {} messages",
            round + 1,
            chat.requests() - before
        );
        samples.push(Sample::new(rate, each));
        beside_many.push(Sample::new(rate, many));
    }
    let (_, twice) = chat.accepted();
    if twice > 0 {
        println!("events: {twice} delivered twice");
    }
    if options.statements {
        statements::show(&database)?;
    }
    let row = ResultRow {
        samples,
        rss_mb: Some(scene.resident_mb("notifier")?),
        ..ResultRow::new(
            format!("events, {} hooks", hooks.projects),
            "a bare lapin publisher and consumer",
            Goal::AtLeast(0.35),
        )
    };
    // For information: the goal compares with a pair that acknowledges each message.
    let beside_many = ResultRow {
        samples: beside_many,
        ..ResultRow::new(
            "events, beside many acknowledged at once",
            "the same pair, which acknowledges up to 500",
            Goal::Told,
        )
    };
    let rates = row.samples.iter().map(|round| round.ours);
    let floor = ResultRow {
        samples: rates.map(|rate| Sample::new(rate, PROMISED)).collect(),
        ..ResultRow::new(
            "events, beside what is promised",
            "3,000 a second",
            Goal::AtLeast(1.0),
        )
    };
    Ok(vec![row, beside_many, floor, latency, busy])
}

/// Returns the messages a second that a bare consumer receives while a bare publisher publishes.
fn consumed(bare: &Path, broker: &str, events: usize, at_once: usize) -> Result<f64> {
    Ok(sustained(events)? / pair(bare, broker, events, at_once, None)?)
}

/// Runs the bare publisher and consumer. Returns their seconds or, with a gap between messages, their p99 in milliseconds.
fn pair(
    bare: &Path,
    broker: &str,
    events: usize,
    at_once: usize,
    gap: Option<Duration>,
) -> Result<f64> {
    let numbers = [events, at_once, SUSTAINED.start, SUSTAINED.end];
    let mut command = Command::new(bare);
    command
        .arg(broker)
        .args(numbers.map(|number| number.to_string()));
    command.args(gap.map(|gap| gap.as_nanos().to_string()));
    let answer = output(&mut command)?;
    let said = answer.trim().parse();
    said.context(|| format!("the bare consumer printed {answer:?}"))
}

/// Returns how many of the events are timed.
fn sustained(events: usize) -> Result<f64> {
    Ok(f64::from(u32::try_from(events * SUSTAINED.len() / 100)?))
}

/// Measures the p99 of an event, from the session's start until the chat has it, beside the pair's, from publish to receipt.
/// Both run at a tenth of the pair's rate. The second row is the resident memory of the notifier at the end.
fn steady(options: &GoalOptions, bare: &Path) -> Result<(ResultRow, ResultRow)> {
    let chat = Chat::start()?;
    let mut scene = BenchEnvironment::services(STEADY_INTERVAL_MS)?;
    let crowd = LoadUsers::gather(&scene, &chat, STEADY_USERS, STEADY_PROJECTS)?;
    // The addresses of the hooks travel as events of their own.
    nap(Duration::from_secs(2))?;
    let database = scene.database("worksession")?.to_owned();
    let broker = scene.broker()?.url.clone();
    let time = Duration::from_secs(options.seconds * 2);
    let mut row = ResultRow {
        unit: Unit::Milliseconds,
        ..ResultRow::new(
            "events, p99 at a tenth of the pair's rate",
            "the same pair at the same rate",
            Goal::Below(5.0),
        )
    };
    let mut from = 0;
    for round in 1..=options.rounds {
        let rate = consumed(bare, &broker, options.events, 1)? * STEADY_PART;
        let gap = Duration::from_secs_f64(1.0 / rate);
        let count = usize::try_from(time.as_nanos() / gap.as_nanos())?;
        let pair_p99 = pair(bare, &broker, count, 1, Some(gap))?;
        let shots = crowd.starts(from, count);
        let outcome = load::fire(scene.address("worksession")?, shots, gap)?;
        if outcome.with_status(201) != count {
            return fail(format!("not all returned 201: {:?}", outcome.statuses));
        }
        wait_told(&chat, from + count)?;
        let arrivals = chat.arrivals(from + count);
        let latencies = arrivals.iter().zip(made(&database, from + count)?);
        let latencies = latencies
            .skip(from)
            .map(|(arrived, made)| arrived.saturating_duration_since(made).as_secs_f64() * 1_000.0);
        let latencies: Vec<_> = latencies.collect();
        from += count;
        let of_each_second: Vec<_> = latencies
            .chunks(count.div_ceil(usize::try_from(time.as_secs())?))
            .map(|second| format!("{:.0}", p50_and_p99(second).1))
            .collect();
        let (p50_ms, p99_ms) = p50_and_p99(&latencies);
        let (start_p50, start_p99, _) = outcome.summary();
        println!(
            "events at {rate:.0}/s, round {round}: p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms (pair {pair_p99:.1} ms), \
             p99 of each second {}; response to the start p50 {start_p50:.1} ms, p99 {start_p99:.1} ms",
            of_each_second.join(", "),
        );
        row.samples.push(Sample {
            p50_ms,
            p99_ms,
            ..Sample::new(p99_ms, pair_p99)
        });
    }
    if options.statements {
        statements::show(&database)?;
    }
    let mb = scene.resident_mb("notifier")?;
    let busy = memory::row(
        "memory, notifier, after events".to_owned(),
        memory::BUSY,
        mb,
        None,
    );
    Ok((row, busy))
}

/// Returns the start times of the sessions, which are set a moment before the commit.
#[expect(
    clippy::disallowed_methods,
    reason = "the services take their times from this machine's clock"
)]
fn made(database: &str, count: usize) -> Result<Vec<Instant>> {
    let (now, unix) = (
        Instant::now(),
        SystemTime::now().duration_since(UNIX_EPOCH)?,
    );
    let rows = Postgres::rows(
        database,
        "SELECT (extract(epoch FROM started_at) * 1000000)::bigint FROM sessions ORDER BY planning_note",
    )?;
    let ago = |row: &Vec<String>| {
        let at = Duration::from_micros(row.first()?.parse().ok()?);
        now.checked_sub(unix.checked_sub(at)?)
    };
    match rows.iter().map(ago).collect::<Option<Vec<_>>>() {
        Some(made) if made.len() == count => Ok(made),
        _ => fail("not every start has a session with a time"),
    }
}

/// Waits until the chat has received this many different starts.
fn wait_told(chat: &Chat, wanted: usize) -> Result {
    let all = || Ok(chat.accepted().0 >= wanted);
    if came_true(PATIENCE, Duration::from_millis(5), all)? {
        return Ok(());
    }
    let (delivered, _) = chat.accepted();
    fail(format!("{} notifications are missing", wanted - delivered))
}

fn p50_and_p99(latencies: &[f64]) -> (f64, f64) {
    let mut sorted = latencies.to_vec();
    sorted.sort_by(f64::total_cmp);
    (per_mille(&sorted, 500), per_mille(&sorted, 990))
}

/// Creates one real session with its event for each project, to be copied.
fn make_samples(
    scene: &BenchEnvironment,
    crowd: &LoadUsers,
    chat: &Chat,
    database: &str,
) -> Result {
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
    load::fire(
        scene.address("worksession")?,
        shots,
        Duration::from_millis(20),
    )?;
    wait_told(chat, projects)?;
    Postgres::execute(
        database,
        "DROP TRIGGER keep_sample ON outbox; \
         CREATE TABLE samples AS SELECT row_number() OVER () - 1 AS n, e.body::jsonb AS body, s.session_id \
         FROM sample_events e JOIN sessions s ON s.session_id = e.body::jsonb #>> '{data,session_id}'",
    )
}

/// Writes a round's events into the outbox in one transaction, and returns how long the chat took for the [`SUSTAINED`]
/// part of them.
fn tell(options: &GoalOptions, chat: &Chat, database: &str, round: usize) -> Result<Duration> {
    let (events, from) = (options.events, options.events * round);
    let projects = options.hooks.projects;
    // Ids grow from the current time, as those of the product do: housekeeping reads all older rows. Each event needs a
    // session, because the outcome of its notification is recorded beside it.
    let uuid = |variant: &str| {
        format!(
            "(SELECT substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || lpad(to_hex(i % 4096), 3, '0') || '-{variant}-' \
             || lpad(to_hex(i), 12, '0') FROM lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + i / 4), 12, '0') AS t)"
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
    // One statement in one transaction: all events appear at once.
    Postgres::execute(
        database,
        "INSERT INTO outbox (id, exchange, routing_key, body, created_at) \
         SELECT event_id, 'work.events', 'session.started.v1', body, now() AT TIME ZONE 'utc' FROM round",
    )?;
    wait_told(chat, wanted)?;
    let mut arrivals = chat.arrivals(from + events);
    let mut arrivals = arrivals.split_off(from.min(arrivals.len()));
    arrivals.sort_unstable();
    let at = |per_cent: usize| arrivals.get(arrivals.len() * per_cent / 100);
    match (at(SUSTAINED.start), at(SUSTAINED.end)) {
        (Some(first), Some(last)) => Ok(last.saturating_duration_since(*first)),
        _ => fail("no event has arrived"),
    }
}
