-- What decides a submit besides its session. See context.postgres.sql. The days are joined last and summed in the outer
-- query: SQLite would first write a nested query into a table of its own. All columns beside the sums are the same for
-- every day.
SELECT :user_id,
    COALESCE(t.version, 0), COALESCE(t.points_centi, 0), COALESCE(t.sessions, 0), COALESCE(t.completed_sessions, 0),
    COALESCE(t.minutes, 0), COALESCE(t.streak_run, 0), COALESCE(t.streak_longest, 0), t.streak_last_day,
    t.streak_last_start, t.streak_last_offset, COALESCE(t.best_hour, 0), COALESCE(t.best_hour_minutes, 0),
    COALESCE(t.favorite_category, ''), COALESCE(t.favorite_category_minutes, 0),
    COALESCE(sum(d.points_centi) FILTER (WHERE d.day = :today), 0),
    COALESCE(sum(d.points_centi) FILTER (WHERE d.day BETWEEN :week_from AND :week_to), 0),
    COALESCE(sum(d.points_centi) FILTER (WHERE d.day BETWEEN :month_from AND :month_to), 0),
    count(*) FILTER (WHERE d.minutes >= 10 AND d.day BETWEEN :week_from AND :week_to),
    count(*) FILTER (WHERE d.minutes >= 10 AND d.day BETWEEN :month_from AND :month_to),
    (SELECT string_agg(badge, ',' ORDER BY earned_at, badge) FROM user_badges WHERE user_id = :user_id),

    s.minutes, s.first_start, s.first_offset, s.last_start, s.last_offset,
    COALESCE((SELECT minutes FROM user_hour WHERE user_id = :user_id AND hour = :hour), 0),
    COALESCE((SELECT minutes FROM user_category WHERE user_id = :user_id AND category = :category), 0),
    (SELECT count(*) FROM user_day
     WHERE user_id = :user_id AND day BETWEEN :own_week_from AND :own_week_to AND day <> :day AND minutes >= 10),
    (SELECT ended_at FROM sessions WHERE user_id = :user_id AND started_at < :started_at
     ORDER BY started_at DESC LIMIT 1),
    (SELECT started_at FROM sessions
     WHERE user_id = :user_id AND started_at > :started_at AND (ended_at IS NULL OR ended_at > started_at)
     ORDER BY started_at LIMIT 1),
    (SELECT COALESCE(sum(credited_minutes), 0) FROM sessions
     WHERE user_id = :user_id AND started_at > :near_from AND started_at < :near_to),
    (SELECT count(*) FROM session_flags WHERE session_id = :session_id
     AND (state = 'upheld' OR (severity = 'suspect' AND state <> 'cleared'))),
    s.by_hour, s.by_category, s.by_project, m.by_day, m.by_hour, m.by_category, m.by_project
FROM (SELECT 1)
LEFT JOIN user_totals t ON t.user_id = :user_id
LEFT JOIN user_day s ON s.user_id = :user_id AND s.day = :day
LEFT JOIN user_month m ON m.user_id = :user_id AND m.month = :own_month
LEFT JOIN user_day d ON d.user_id = :user_id
    AND d.day BETWEEN min(:week_from, :month_from) AND max(:week_to, :month_to)
