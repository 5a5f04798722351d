//! A database with two years of many users' data, so that an index scan is cheaper than a table scan.

use test_kit::TestBackend;

use crate::database::execute;
use crate::service_fixture::Service;

/// Returns SQL for the time `minutes` (an expression) before 08:30, half an hour before the calls begin.
fn minutes_before(minutes: &str) -> String {
    match TestBackend::current() {
        TestBackend::Postgres => {
            format!("TIMESTAMP '2026-11-23 08:30:00' - ({minutes}) * INTERVAL '1 minute'")
        }
        TestBackend::Sqlite => {
            format!("datetime('2026-11-23 08:30:00', (-({minutes})) || ' minutes')")
        }
    }
}

/// Returns SQL for the date `days` (an expression) before that.
fn days_before(days: &str) -> String {
    match TestBackend::current() {
        TestBackend::Postgres => format!("DATE '2026-11-23' - ({days})"),
        TestBackend::Sqlite => format!("date('2026-11-23', '-' || ({days}) || ' days')"),
    }
}

fn numbers(count: usize) -> String {
    format!(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count} - 1)"
    )
}

/// 20,000 sessions of 200 users and 2,000 of Ada, six hours apart for each user; every tenth is on a team project.
fn sessions() -> String {
    let started = minutes_before("720 + 360 * (CASE WHEN i < 2000 THEN i ELSE i / 200 END)");
    let ended = minutes_before("695 + 360 * (CASE WHEN i < 2000 THEN i ELSE i / 200 END)");
    format!(
        "INSERT INTO sessions (session_id, user_id, username, client, category, planned_duration, planning_note, \
          project_id, project_name, team_id, status, started_at, expected_end_at, ended_at, zone, submitted_at, \
          start_time, end_time, credited_minutes, points_centi, note, start_digest, idempotency_key, submit_digest, \
          submit_result, seq, changed_at) \
         {} SELECT '00000000-0000-7000-a000-' || (100000000000 + i), \
          CASE WHEN i < 2000 THEN 7 ELSE 101 + i % 200 END, 'somebody', 'client_a', \
          CASE i % 3 WHEN 0 THEN 'coding' ELSE 'writing' END, 25, 'the plan', \
          CASE i % 10 WHEN 0 THEN 'team_' || (1 + i % 50) ELSE 'none' END, '', CASE i % 10 WHEN 0 THEN 3 END, \
          'completed', {started}, {ended}, {ended}, 'UTC', {ended}, {started}, {ended}, 25, 255, 'done', 'd' || i, \
          'k' || i, 's' || i, '{{}}', i, {ended} FROM n;",
        numbers(22_000)
    )
}

/// A running session and one that awaits its submit, for each of the 200 users.
fn open_sessions() -> String {
    let started = minutes_before("i / 200");
    let end = minutes_before("i / 200 - 25");
    format!(
        "INSERT INTO sessions (session_id, user_id, username, client, category, planned_duration, planning_note, \
          project_id, project_name, status, started_at, expected_end_at, ended_at, zone, start_digest, seq, \
          changed_at) \
         {} SELECT '00000000-0000-7000-9000-' || (100000000000 + i), 101 + i % 200, 'somebody', \
          'client_a', 'coding', 25, '', 'none', '', \
          CASE i / 200 WHEN 0 THEN 'running' ELSE 'awaiting_submit' END, {started}, {end}, \
          CASE i / 200 WHEN 1 THEN {end} END, 'UTC', 'o' || i, 50000 + i, {started} FROM n;",
        numbers(400)
    )
}

/// Flags, notifications, events, teams, webhooks and deliveries.
fn other_rows() -> String {
    let at = minutes_before("i");
    let (some, many, log) = (numbers(4_000), numbers(10_000), numbers(10_000));
    format!(
        "INSERT INTO session_flags (session_id, user_id, kind, severity, created_at, state) \
          {some} SELECT '00000000-0000-7000-a000-' || (100000000000 + i * 5), 101 + i % 200, 'long_day', \
           'suspect', {at}, 'cleared' FROM n; \
         INSERT INTO notifications (event_id, session_id, outcome, settled_at) \
          {many} SELECT 'told-' || i, '00000000-0000-7000-a000-' || (100000000000 + i), 'delivered', {at} FROM n; \
         INSERT INTO outbox (id, exchange, routing_key, body, created_at, state) \
          {many} SELECT 'aside-' || i, 'work.events', 'session.started.v1', '{{}}', {at}, \
           'unroutable' FROM n; \
         INSERT INTO inbox (consumer, event_id, received_at) \
          {many} SELECT 'somebody', 'heard-' || i, {at} FROM n; \
         INSERT INTO teams (team_id, told_at, deleted) {many} SELECT 100000 + i, {at}, i % 2 = 0 FROM n; \
         INSERT INTO webhook_deliveries (delivery_id, webhook_id, user_id, event_id, event_type, state, step, \
          attempts, created_at) \
          {log} SELECT '00000000-0000-7000-8000-' || (100000000000 + i), 1 + i % 50, 7, 'e' || i, \
           'session.started.v1', 'delivered', 1, 1, {at} FROM n; \
         INSERT INTO webhooks (user_id, team_id, slot, description, origin, events, revision, status, \
          created_at, updated_at, secret_changed_at) \
          {many} SELECT CASE i % 2 WHEN 0 THEN 1000 + i END, CASE i % 2 WHEN 1 THEN 1000 + i END, 1, '', \
           'https://a.example', 'session.abandoned.v1', 1, 'active', {at}, {at}, {at} FROM n;"
    )
}

/// Rollups of 200 days for 100 users and Ada, and the other rows of 5,000 users.
fn rollups() -> String {
    let (users, days, wide) = (numbers(5_000), numbers(20_200), numbers(15_000));
    let user = "CASE i WHEN 0 THEN 7 ELSE 100 + i END";
    let at = minutes_before("i");
    let the_day = days_before("i / 101");
    let a_month = days_before("30 * (i % 20)");
    let (one_day, one_week) = (days_before("i / 300"), days_before("7 * (i / 300)"));
    format!(
        "INSERT INTO user_totals (user_id, version, points_centi, sessions, completed_sessions, minutes, streak_run, \
          streak_longest, best_hour, best_hour_minutes, favorite_category, favorite_category_minutes) \
          {users} SELECT {user}, 1, 255, 1, 1, 25, 0, 0, 9, 25, 'coding', 25 FROM n; \
         INSERT INTO user_sync (user_id, seq) {users} SELECT {user}, 60000 FROM n; \
         INSERT INTO user_settings (user_id, timezone, daily_goal, default_duration, short_break_duration, \
          long_break_duration, notification_sound, theme_preference, leaderboard_opt_in, updated_at) \
          {users} SELECT {user}, 'UTC', 8, 25, 5, 15, 'bell', 'system', i % 10 = 0, {at} FROM n; \
         INSERT INTO projects (user_id, name, description, created_at, updated_at, seq) \
          {users} SELECT {user}, 'Thesis', '', {at}, {at}, 1 FROM n; \
         INSERT INTO team_projects (team_id, team_name, name, description, chat_channel, is_public, created_at, \
          updated_at) \
          {users} SELECT 1000 + i / 5, '', 'Beacon', '', '', i % 1000 = 0, {at}, {at} FROM n; \
         INSERT INTO chat_integrations (team_project_id, revision, status, updated_at) \
          {users} SELECT i + 1, 1, 'off', {at} FROM n; \
         INSERT INTO user_badges (user_id, badge, earned_at) \
          {users} SELECT {user}, 'early_bird', {at} FROM n; \
         INSERT INTO user_hour (user_id, hour, minutes) \
          {wide} SELECT 101 + i / 20, i % 20, 25 FROM n; \
         INSERT INTO user_category (user_id, category, minutes) \
          {wide} SELECT 101 + i / 20, 'kind ' || (i % 20), 25 FROM n; \
         INSERT INTO user_month (user_id, month, by_day, by_hour, by_category, by_project) \
          {wide} SELECT 101 + i / 20, {a_month}, '{{}}', '{{}}', '{{}}', '{{}}' FROM n; \
         INSERT INTO user_day (user_id, day, sessions, minutes, points_centi, first_start, first_offset, \
          last_start, last_offset) \
          {days} SELECT CASE i % 101 WHEN 0 THEN 7 ELSE 100 + i % 101 END, \
           {the_day}, 4, 100, 1020, {at}, 0, {at}, 0 FROM n; \
         INSERT INTO board (scope, period, start, user_id, username, points_centi, minutes, sessions, \
          reached_at) \
          {wide} SELECT 0, 'day', {one_day}, 100 + i % 300, 'somebody', 255, 25, 1, {at} FROM n; \
         INSERT INTO board (scope, period, start, user_id, username, points_centi, minutes, sessions, \
          reached_at) \
          {wide} SELECT 1 + i % 2 * 2, 'week', {one_week}, 100 + i % 300, 'somebody', 255, 25, 1, {at} FROM n; \
         INSERT INTO board (scope, period, start, user_id, username, points_centi, minutes, sessions, \
          reached_at) \
          {wide} SELECT i / 300, 'all', '1970-01-01', 100 + i % 300, 'somebody', 255, 25, 1, {at} FROM n;"
    )
}

/// Fills the database. The clock stays: every row lies before the first call.
pub fn fill(service: &Service) {
    for sql in [sessions(), open_sessions(), other_rows(), rollups()] {
        execute(service, &sql);
    }
}
