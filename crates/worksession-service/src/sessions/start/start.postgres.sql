-- Starts the sessions in $1, one per user: ends the running session and enqueues the event. Returns the new session,
-- or that of the earlier start that this one repeats (`earlier` is the same as repeated.sql: change both). Skips users
-- whose row is locked, has changed since this statement began, or is missing: a first start inserts it in a transaction.
WITH new AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS attempts (
        session_id text, user_id bigint, username text, client text, category text, planned_duration integer,
        planning_note text, project_id text, project_name text, team_id bigint, team_name text, chat text,
        started_at timestamp, expected_end_at timestamp, start_digest text, idempotency_key text,
        repeated_after timestamp, key_after timestamp, open_after timestamp, event json
    )
),
earlier AS (
    SELECT found.* FROM new CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT 1 AS rank, sessions.* FROM sessions
            WHERE user_id = new.user_id AND idempotency_key = new.idempotency_key AND started_at > new.key_after
              AND (start_digest <> new.start_digest
                   OR (status IN ('running', 'awaiting_submit') AND expected_end_at > new.open_after))
            UNION ALL
            SELECT 2, sessions.* FROM sessions
            WHERE user_id = new.user_id AND status = 'running' AND start_digest = new.start_digest
              AND started_at > new.repeated_after
        ) AS same
        ORDER BY rank, started_at DESC LIMIT 1
    ) AS found
),
seen AS MATERIALIZED (
    SELECT user_id, seq FROM user_sync WHERE user_id = ANY (ARRAY(SELECT user_id FROM new))
),
-- The counter is the lock of all of a user's data. The lock reads its current value. If that differs from `seen`, another
-- transaction has committed after this statement's snapshot, and `earlier` may lack its session.
free AS MATERIALIZED (
    SELECT user_id, seq FROM user_sync WHERE user_id = ANY (ARRAY(SELECT user_id FROM new)) FOR UPDATE SKIP LOCKED
),
-- Two numbers: one for the session that ends, and one for the session that starts.
bump AS (
    UPDATE user_sync SET seq = seq + 2
    WHERE user_id = ANY (ARRAY(
        SELECT user_id FROM free JOIN seen USING (user_id, seq) WHERE user_id NOT IN (SELECT user_id FROM earlier)
    ))
    RETURNING user_id, seq
),
closed AS (
    UPDATE sessions
    SET status = 'awaiting_submit', ended_at = new.started_at, changed_at = new.started_at, seq = bump.seq - 1
    FROM new JOIN bump USING (user_id)
    WHERE sessions.user_id = new.user_id AND sessions.user_id = ANY (ARRAY(SELECT user_id FROM bump))
      AND sessions.status = 'running'
    RETURNING sessions.session_id
),
opened AS (
    INSERT INTO sessions (
        session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
        team_id, team_name, chat, status, started_at, expected_end_at, zone, start_digest, idempotency_key, changed_at, seq
    )
    SELECT session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
        team_id, team_name, chat, 'running', started_at, expected_end_at,
        COALESCE((SELECT timezone FROM user_settings WHERE user_settings.user_id = new.user_id), 'UTC'),
        start_digest, idempotency_key, started_at, bump.seq
    FROM new JOIN bump USING (user_id)
    -- Makes `closed` run first, so that the running session leaves the unique index before the new one enters it.
    WHERE (SELECT count(*) FROM closed) >= 0
    RETURNING *
),
queued AS (
    INSERT INTO outbox (id, exchange, routing_key, body, created_at)
    SELECT event ->> 'id', event ->> 'exchange', event ->> 'routing_key', event ->> 'body', new.started_at
    FROM new JOIN opened USING (session_id)
)
SELECT session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, ended_at, zone, start_digest, submitted_at,
    submit_digest, submit_result, false AS fresh
FROM earlier
UNION ALL
SELECT session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, ended_at, zone, start_digest, submitted_at,
    submit_digest, submit_result, true
FROM opened
