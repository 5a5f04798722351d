-- Starts a session after the caller has found no earlier start (repeated.sql). See start.postgres.sql.
INSERT INTO user_sync (user_id, seq) VALUES (:user_id, 2)
ON CONFLICT (user_id) DO UPDATE SET seq = seq + 2;

UPDATE sessions
SET status = 'awaiting_submit', ended_at = :started_at, changed_at = :started_at,
    seq = (SELECT seq FROM user_sync WHERE user_id = :user_id) - 1
WHERE user_id = :user_id AND status = 'running';

INSERT INTO sessions (
    session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, zone, start_digest, idempotency_key, changed_at, seq
) VALUES (
    :session_id, :user_id, :username, :client, :category,
    :planned_duration, :planning_note, :project_id, :project_name,
    :team_id, :team_name, :chat, 'running', :started_at, :expected_end_at,
    COALESCE((SELECT timezone FROM user_settings WHERE user_id = :user_id), 'UTC'),
    :start_digest, :idempotency_key, :started_at,
    (SELECT seq FROM user_sync WHERE user_id = :user_id)
);
