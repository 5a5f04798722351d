-- The totals of the user in $1, with the sums of their periods.
WITH a AS (
    SELECT $1 ->> 'user_id' AS user_id, $1 ->> 'today' AS today, $1 ->> 'week_from' AS week_from,
        $1 ->> 'week_to' AS week_to, $1 ->> 'month_from' AS month_from, $1 ->> 'month_to' AS month_to
)
SELECT
    COALESCE(t.version, 0), COALESCE(t.points_centi, 0), COALESCE(t.sessions, 0), COALESCE(t.completed_sessions, 0),
    COALESCE(t.minutes, 0), COALESCE(t.streak_run, 0), COALESCE(t.streak_longest, 0), t.streak_last_day,
    t.streak_last_start, t.streak_last_offset, COALESCE(t.best_hour, 0), COALESCE(t.best_hour_minutes, 0),
    COALESCE(t.favorite_category, ''), COALESCE(t.favorite_category_minutes, 0),
    COALESCE(sum(d.points_centi) FILTER (WHERE d.day = a.today), 0),
    COALESCE(sum(d.points_centi) FILTER (WHERE d.day BETWEEN a.week_from AND a.week_to), 0),
    COALESCE(sum(d.points_centi) FILTER (WHERE d.day BETWEEN a.month_from AND a.month_to), 0),
    count(*) FILTER (WHERE d.minutes >= 10 AND d.day BETWEEN a.week_from AND a.week_to),
    count(*) FILTER (WHERE d.minutes >= 10 AND d.day BETWEEN a.month_from AND a.month_to),
    (SELECT string_agg(badge, ',' ORDER BY earned_at, badge) FROM user_badges WHERE user_id = a.user_id)
FROM a
LEFT JOIN user_totals t ON t.user_id = a.user_id
LEFT JOIN user_day d ON d.user_id = a.user_id
    AND d.day BETWEEN min(a.week_from, a.month_from) AND max(a.week_to, a.month_to)
