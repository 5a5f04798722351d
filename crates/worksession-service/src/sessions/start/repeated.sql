-- The session of an earlier start that this one repeats: with the same key ($2, after $3), or running with the same
-- plan ($4). The key takes precedence. A session with the same key and another plan is returned too, for the caller to
-- refuse. start.postgres.sql repeats this for many starts: change both.
SELECT session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, ended_at, zone, start_digest, submitted_at,
    submit_digest, submit_result
FROM (
    SELECT 1 AS rank, sessions.* FROM sessions
    WHERE user_id = $1 AND idempotency_key = $2 AND started_at > $3
      AND (start_digest <> $4 OR (status IN ('running', 'awaiting_submit') AND expected_end_at > $5))
    UNION ALL
    SELECT 2, sessions.* FROM sessions
    WHERE user_id = $1 AND status = 'running' AND start_digest = $4 AND started_at > $6
) AS same
ORDER BY rank, started_at DESC LIMIT 1
