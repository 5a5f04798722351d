-- For each submit in $1, each of another user, its session with the user's zone and last change number. Without a
-- session id, that is an open session, or the one that the same submit closed before. The fields that were sent decide
-- first (`fits`, as in rules/locked_fields.rs). Next comes a repeated submit, because the client's clock may be wrong.
-- Last comes the start that is nearest to the client's.
WITH attempts AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS attempts (
        user_id bigint, session_id text, submit_digest text, open_after timestamp, start_time timestamp,
        category text, duration bigint, project_id text
    )
)
SELECT s.session_id, s.user_id, s.username, s.client, s.category, s.planned_duration, s.planning_note, s.project_id,
    s.project_name, s.team_id, s.team_name, s.chat, s.status, s.started_at, s.expected_end_at, s.ended_at, s.zone,
    s.start_digest, s.submitted_at, s.submit_digest, s.submit_result,
    COALESCE((SELECT timezone FROM user_settings WHERE user_id = a.user_id), 'UTC'),
    COALESCE((SELECT seq FROM user_sync WHERE user_id = a.user_id), 0)
FROM attempts a
CROSS JOIN LATERAL (
    SELECT COALESCE(a.session_id, (
        SELECT session_id FROM (
            SELECT session_id, started_at, false AS repeated,
                (a.category IS NULL OR category = a.category)
                AND (a.duration IS NULL OR planned_duration = a.duration)
                AND (a.project_id IS NULL OR project_id = a.project_id) AS fits
            FROM sessions
            WHERE user_id = a.user_id AND status IN ('running', 'awaiting_submit') AND expected_end_at > a.open_after
            UNION ALL
            SELECT session_id, started_at, true, true FROM sessions
            WHERE user_id = a.user_id AND submit_digest = a.submit_digest
              AND (a.category IS NULL OR category = a.category)
              AND (a.duration IS NULL OR planned_duration = a.duration)
              AND (a.project_id IS NULL OR project_id = a.project_id)
        ) AS meant
        ORDER BY fits DESC, repeated DESC, abs(extract(epoch FROM started_at - a.start_time)) LIMIT 1
    )) AS session_id OFFSET 0
) AS chosen
CROSS JOIN LATERAL (
    SELECT * FROM sessions WHERE session_id = chosen.session_id AND user_id = a.user_id OFFSET 0
) AS s
