//! Years of sessions, written by SQL, because the service would take days.

use super::Size;
use std::process::{Command, Stdio};
use xtask_kit::cmd::{Result, run};

/// Fills the work-session database at this URL.
pub(super) fn fill(url: &str, size: &Size) -> Result {
    let sqlite = url.strip_prefix("sqlite://");
    let (series, indexes_off, indexes_on, end) = match sqlite {
        Some(_) => (
            "(SELECT value AS n FROM generate_series(0, {last})) AS numbers",
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;",
            "",
            "ANALYZE;",
        ),
        None => (
            "generate_series(0, {last}) AS numbers(n)",
            INDEXES_OFF,
            INDEXES_ON,
            "VACUUM ANALYZE;",
        ),
    };
    let mut sql = indexes_off.to_owned();
    for part in [size.own(), size.others()] {
        let series = series.replace("{last}", &(part.sessions - 1).to_string());
        let (at, day) = match sqlite {
            Some(_) => (SQLITE_AT, SQLITE_DAY),
            None => (POSTGRES_AT, POSTGRES_DAY),
        };
        let sessions = SESSIONS
            .replace("{series}", &series)
            .replace("{at}", at)
            .replace("{day}", day)
            .replace("{first_user}", &part.first_user.to_string())
            .replace("{users}", &part.users.to_string())
            .replace("{each_day}", &part.each_day.to_string());
        sql += &sessions;
    }
    sql += indexes_on;
    sql += ROLLUPS;
    sql += end;
    let script = tempfile::NamedTempFile::new()?;
    std::fs::write(script.path(), sql)?;
    let mut command = match sqlite {
        Some(path) => {
            let mut command = Command::new("sqlite3");
            let read = format!(".read {}", script.path().display());
            command.args(["-bail", path, &read]);
            command
        }
        None => {
            let mut command = Command::new("psql");
            command.args([
                "--quiet",
                "--no-psqlrc",
                "--set",
                "ON_ERROR_STOP=1",
                "--file",
            ]);
            command.arg(script.path()).arg(url);
            command
        }
    };
    run(command.stdout(Stdio::null()))
}

/// PostgreSQL builds an index in one go several times faster than row by row.
const INDEXES_OFF: &str = "SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '256MB';
CREATE TEMP TABLE saved AS SELECT indexname, indexdef FROM pg_indexes
WHERE schemaname = 'public' AND tablename = 'sessions' AND indexname <> 'sessions_pkey';
DO $$ DECLARE name text; BEGIN FOR name IN SELECT indexname FROM saved LOOP EXECUTE 'DROP INDEX ' || quote_ident(name); END LOOP; END $$;
";
const INDEXES_ON: &str = "
DO $$ DECLARE def text; BEGIN FOR def IN SELECT indexdef FROM saved LOOP EXECUTE def; END LOOP; END $$;
";

/// The start of a user's session `k`: `k / each_day + 1` days ago, from 6:00 UTC on, with an hour between the sessions of a day.
const POSTGRES_AT: &str = "(date_trunc('day', now() AT TIME ZONE 'utc') - interval '1 day' * (k / {each_day} + 1) \
    + interval '1 hour' * (6 + k % {each_day}))";
const SQLITE_AT: &str = "strftime('%Y-%m-%d %H:%M:%S', 'now', 'start of day', '-' || (k / {each_day} + 1) || ' days', \
    '+' || (6 + k % {each_day}) || ' hours')";
const POSTGRES_DAY: &str = "CAST(at AS DATE)";
const SQLITE_DAY: &str = "date(at)";

/// Inserts complete sessions of 25 minutes and 2.5 points each.
const SESSIONS: &str = "
INSERT INTO sessions (session_id, user_id, username, client, category, planned_duration, planning_note, project_id,
 project_name, status, started_at, expected_end_at, ended_at, zone, local_day, utc_offset, submitted_at, start_time,
 end_time, credited_minutes, points_centi, note, start_digest, submit_digest, submit_result, seq, changed_at, on_boards)
SELECT 'session-' || user_id || '-' || k, user_id, 'user' || user_id, 'client_a', 'category ' || (k % 7), 25,
 'what I plan to do in this session', 'none', '', 'completed', at, at, at, 'UTC', {day}, 0, at, at, at, 25, 250,
 'what I did in this session', 'start ' || user_id || ' ' || k, 'submit ' || user_id || ' ' || k, '{}', 1000000 - k, at, TRUE
FROM (SELECT user_id, k, {at} AS at
 FROM (SELECT {first_user} + n % {users} AS user_id, n / {users} AS k FROM {series}) AS numbered) AS placed;
";

const ROLLUPS: &str = "
INSERT INTO user_day (user_id, day, sessions, minutes, points_centi, first_start, first_offset, last_start, last_offset)
SELECT user_id, local_day, COUNT(*), SUM(credited_minutes), SUM(points_centi), MIN(started_at), 0, MAX(started_at), 0
FROM sessions GROUP BY user_id, local_day;
INSERT INTO user_totals (user_id, version, points_centi, sessions, completed_sessions, minutes, streak_run,
 streak_longest, best_hour, best_hour_minutes, favorite_category, favorite_category_minutes)
SELECT user_id, 1, SUM(points_centi), SUM(sessions), SUM(sessions), SUM(minutes), 1, 1, 6, 25, 'category 0', 25
FROM user_day GROUP BY user_id;
INSERT INTO user_sync (user_id, seq) SELECT user_id, 1000000 FROM user_totals;
INSERT INTO user_settings (user_id, timezone, daily_goal, default_duration, short_break_duration, long_break_duration,
 notification_sound, theme_preference, leaderboard_opt_in, updated_at, seq)
SELECT user_id, 'UTC', 8, 25, 5, 15, 'bell', 'system', TRUE, '1970-01-01 00:00:00', 1 FROM user_totals;
INSERT INTO board (scope, period, start, user_id, username, points_centi, minutes, sessions, reached_at)
SELECT 0, 'all', '1970-01-01', user_id, 'user' || user_id, points_centi, minutes, sessions, '1970-01-01 00:00:00' FROM user_totals;
";
