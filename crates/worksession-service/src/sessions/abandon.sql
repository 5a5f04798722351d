-- Marks the open session $3 as abandoned at $2, with its user's change number $1.
UPDATE sessions
SET status = 'abandoned', ended_at = COALESCE(ended_at, expected_end_at), seq = $1, changed_at = $2
WHERE session_id = $3 AND status IN ('running', 'awaiting_submit')
RETURNING session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, ended_at, zone, start_digest, submitted_at,
    submit_digest, submit_result
