SELECT session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), ''),
    user_id, username, team_id, team_name, submit_result, changed_at, seq
FROM sessions
WHERE session_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)))
