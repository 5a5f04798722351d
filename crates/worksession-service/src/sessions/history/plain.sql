-- The sessions of user $1 that started at $2 or later and precede the position ($3, $4), newest first. The inner
-- limit, the longest page and one more, is a literal: only then does PostgreSQL know that few rows are needed. It then
-- reads them in order from the index instead of sorting all of them.
SELECT session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), '')
FROM (
    SELECT * FROM sessions
    WHERE user_id = $1 AND started_at >= $2 AND started_at <= $3 AND (started_at < $3 OR session_id < $4)
    ORDER BY started_at DESC, session_id DESC LIMIT 201
) AS sessions
ORDER BY started_at DESC, session_id DESC LIMIT $5
