-- Up to 200 sessions of user $1 after the position ($2, $3) that started before $4, oldest first.
SELECT session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), '')
FROM sessions
WHERE user_id = $1 AND started_at >= $2 AND (started_at > $2 OR session_id > $3) AND started_at < $4
ORDER BY started_at, session_id LIMIT 200
