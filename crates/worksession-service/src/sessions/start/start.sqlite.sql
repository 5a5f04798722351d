-- Starts the session in $1; the caller has looked for an earlier start (earlier.sql). See start.postgres.sql.
INSERT INTO user_sync (user_id, seq) VALUES ($1 ->> 'user_id', 2)
ON CONFLICT (user_id) DO UPDATE SET seq = seq + 2;

UPDATE sessions
SET status = 'awaiting_submit', ended_at = $1 ->> 'started_at', changed_at = $1 ->> 'started_at',
    seq = (SELECT seq FROM user_sync WHERE user_id = $1 ->> 'user_id') - 1
WHERE user_id = $1 ->> 'user_id' AND status = 'running';

INSERT INTO sessions (
    session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, zone, start_digest, idempotency_key, changed_at, seq
) VALUES (
    $1 ->> 'session_id', $1 ->> 'user_id', $1 ->> 'username', $1 ->> 'client', $1 ->> 'category',
    $1 ->> 'planned_duration', $1 ->> 'planning_note', $1 ->> 'project_id', $1 ->> 'project_name',
    $1 ->> 'team_id', $1 ->> 'team_name', $1 ->> 'chat', 'running', $1 ->> 'started_at', $1 ->> 'expected_end_at',
    COALESCE((SELECT timezone FROM user_settings WHERE user_id = $1 ->> 'user_id'), 'UTC'),
    $1 ->> 'start_digest', $1 ->> 'idempotency_key', $1 ->> 'started_at',
    (SELECT seq FROM user_sync WHERE user_id = $1 ->> 'user_id')
);

INSERT INTO outbox (id, exchange, routing_key, body, created_at)
VALUES ($1 ->> '$.event.id', $1 ->> '$.event.exchange', $1 ->> '$.event.routing_key', $1 ->> '$.event.body',
    $1 ->> 'started_at');
