-- Like plain.sql, but of the first 10,000 sessions only those that match.
SELECT session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), '')
FROM (
    SELECT * FROM sessions
    WHERE user_id = $1 AND started_at >= $2 AND started_at <= $3 AND (started_at < $3 OR session_id < $4)
    ORDER BY started_at DESC, session_id DESC LIMIT 10000
) AS sessions
WHERE (CAST($5 AS text) IS NULL OR $5 LIKE '%,' || status || ',%') AND (CAST($6 AS text) IS NULL OR project_id = $6)
    AND (CAST($7 AS text) IS NULL OR category = $7) AND (CAST($8 AS text) IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = $8))
ORDER BY started_at DESC, session_id DESC LIMIT $9
