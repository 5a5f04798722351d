-- The session of a submit. See sessions.postgres.sql.
SELECT session_id, user_id, username, client, category, planned_duration, planning_note, project_id, project_name,
    team_id, team_name, chat, status, started_at, expected_end_at, ended_at, zone, start_digest, submitted_at,
    submit_digest, submit_result,
    COALESCE((SELECT timezone FROM user_settings WHERE user_id = :user_id), 'UTC'),
    COALESCE((SELECT seq FROM user_sync WHERE user_id = :user_id), 0)
FROM sessions
WHERE user_id = :user_id AND session_id = COALESCE(:session_id, (
    SELECT session_id FROM (
        SELECT session_id, started_at, false AS repeated,
            (:category IS NULL OR category = :category)
            AND (:duration IS NULL OR planned_duration = :duration)
            AND (:project_id IS NULL OR project_id = :project_id) AS fits
        FROM sessions
        WHERE user_id = :user_id AND status IN ('running', 'awaiting_submit')
          AND expected_end_at > :open_after
        UNION ALL
        SELECT session_id, started_at, true, true FROM sessions
        WHERE user_id = :user_id AND submit_digest = :submit_digest
          AND (:category IS NULL OR category = :category)
          AND (:duration IS NULL OR planned_duration = :duration)
          AND (:project_id IS NULL OR project_id = :project_id)
    ) AS meant
    ORDER BY fits DESC, repeated DESC, abs(julianday(started_at) - julianday(:start_time)) LIMIT 1
))
