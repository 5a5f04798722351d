-- Sessions that changed after $1 and up to $2, of user $3 or on projects of the teams in $4 (such as `,1,2,`).
SELECT session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), ''),
    user_id, username, team_id, team_name, submit_result, changed_at, seq
FROM sessions
WHERE changed_at > $1 AND changed_at <= $2 AND (user_id = $3 OR $4 LIKE '%,' || team_id || ',%')
LIMIT 201
