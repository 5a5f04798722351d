-- The totals of each user in $1, with the sums of their periods, in the order of $1. OFFSET 0 makes PostgreSQL look up
-- each user separately: it would otherwise scan a table that is still small.
WITH a AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS users (
        nth bigint, user_id bigint, today date, week_from date, week_to date, month_from date, month_to date
    )
)
SELECT
    COALESCE(t.version, 0), COALESCE(t.points_centi, 0), COALESCE(t.sessions, 0), COALESCE(t.completed_sessions, 0),
    COALESCE(t.minutes, 0), COALESCE(t.streak_run, 0), COALESCE(t.streak_longest, 0), t.streak_last_day,
    t.streak_last_start, t.streak_last_offset, COALESCE(t.best_hour, 0), COALESCE(t.best_hour_minutes, 0),
    COALESCE(t.favorite_category, ''), COALESCE(t.favorite_category_minutes, 0),
    d.points_today, d.points_week, d.points_month, d.days_week, d.days_month,
    (SELECT string_agg(badge, ',' ORDER BY earned_at, badge) FROM user_badges WHERE user_id = a.user_id)
FROM a
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
ORDER BY nth
