SELECT session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, ended_at, zone, start_digest, submitted_at,
    submit_digest, submit_result
FROM sessions
WHERE session_id = $1 AND user_id = $2
