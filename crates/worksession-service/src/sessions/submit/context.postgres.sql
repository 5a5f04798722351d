-- What decides each submit in $1 besides its session: the user's totals with their current periods, then the rollups
-- and sessions around it. OFFSET 0 makes PostgreSQL look up each user separately: it would otherwise scan a table that
-- is still small. 10 is `MIN_COUNTED_MINUTES`.
WITH attempts AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS attempts (
        user_id bigint, session_id text, today date, week_from date, week_to date, month_from date, month_to date,
        day date, hour integer, category text, own_month date, own_week_from date, own_week_to date,
        started_at timestamp, near_from timestamp, near_to timestamp
    )
)
SELECT a.user_id,
    COALESCE(t.version, 0), COALESCE(t.points_centi, 0), COALESCE(t.sessions, 0), COALESCE(t.completed_sessions, 0),
    COALESCE(t.minutes, 0), COALESCE(t.streak_run, 0), COALESCE(t.streak_longest, 0), t.streak_last_day,
    t.streak_last_start, t.streak_last_offset, COALESCE(t.best_hour, 0), COALESCE(t.best_hour_minutes, 0),
    COALESCE(t.favorite_category, ''), COALESCE(t.favorite_category_minutes, 0),
    d.points_today, d.points_week, d.points_month, d.days_week, d.days_month,
    (SELECT string_agg(badge, ',' ORDER BY earned_at, badge) FROM user_badges WHERE user_id = a.user_id),

    s.minutes, s.first_start, s.first_offset, s.last_start, s.last_offset,
    COALESCE((SELECT minutes FROM user_hour WHERE user_id = a.user_id AND hour = a.hour), 0),
    COALESCE((SELECT minutes FROM user_category WHERE user_id = a.user_id AND category = a.category), 0),
    (SELECT CAST(count(*) AS integer) FROM user_day
     WHERE user_id = a.user_id AND day BETWEEN a.own_week_from AND a.own_week_to AND day <> a.day AND minutes >= 10),
    (SELECT ended_at FROM sessions WHERE user_id = a.user_id AND started_at < a.started_at
     ORDER BY started_at DESC LIMIT 1),
    (SELECT started_at FROM sessions
     WHERE user_id = a.user_id AND started_at > a.started_at AND (ended_at IS NULL OR ended_at > started_at)
     ORDER BY started_at LIMIT 1),
    (SELECT CAST(COALESCE(sum(credited_minutes), 0) AS integer) FROM sessions
     WHERE user_id = a.user_id AND started_at > a.near_from AND started_at < a.near_to),
    (SELECT count(*) FROM session_flags WHERE session_id = a.session_id
     AND (state = 'upheld' OR (severity = 'suspect' AND state <> 'cleared'))),
    s.by_hour, s.by_category, s.by_project, m.by_day, m.by_hour, m.by_category, m.by_project
FROM attempts a
CROSS JOIN LATERAL (
    SELECT
        CAST(COALESCE(sum(points_centi) FILTER (WHERE day = a.today), 0) AS bigint) AS points_today,
        CAST(COALESCE(sum(points_centi) FILTER (WHERE day BETWEEN a.week_from AND a.week_to), 0) AS bigint) AS points_week,
        CAST(COALESCE(sum(points_centi) FILTER (WHERE day BETWEEN a.month_from AND a.month_to), 0) AS bigint) AS points_month,
        CAST(count(*) FILTER (WHERE minutes >= 10 AND day BETWEEN a.week_from AND a.week_to) AS integer) AS days_week,
        CAST(count(*) FILTER (WHERE minutes >= 10 AND day BETWEEN a.month_from AND a.month_to) AS integer) AS days_month
    FROM user_day
    WHERE user_id = a.user_id
      AND day BETWEEN least(a.week_from, a.month_from) AND greatest(a.week_to, a.month_to)
) AS d
LEFT JOIN LATERAL (SELECT * FROM user_totals WHERE user_id = a.user_id OFFSET 0) AS t ON true
LEFT JOIN LATERAL (SELECT * FROM user_day WHERE user_id = a.user_id AND day = a.day OFFSET 0) AS s ON true
LEFT JOIN LATERAL (SELECT * FROM user_month WHERE user_id = a.user_id AND month = a.own_month OFFSET 0) AS m ON true
