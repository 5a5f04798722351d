-- The changes of user $1 after number $2: up to 200 and one more in the order of their numbers, then the running
-- session. Each row has the counter. The search covers a thousand numbers from the first new one on. This limits the
-- rows that are read, however many sessions the user has and whatever PostgreSQL estimates. Most numbers belong to
-- earlier states and have no row any more.
WITH counter AS (
    SELECT COALESCE((SELECT seq FROM user_sync WHERE user_id = $1), 0) AS counted
),
bound AS (
    SELECT CASE WHEN $2 > counted THEN -1 ELSE $2 END AS bound_seq FROM counter
),
reach AS (
    SELECT min(number) + 999 AS looked FROM (
        SELECT min(seq) AS number FROM sessions WHERE user_id = $1 AND seq > (SELECT bound_seq FROM bound)
        UNION ALL
        SELECT min(seq) FROM projects WHERE user_id = $1 AND seq > (SELECT bound_seq FROM bound)
        UNION ALL
        SELECT min(seq) FROM user_settings WHERE user_id = $1 AND seq > (SELECT bound_seq FROM bound)
    ) AS firsts
),
changed AS (
    SELECT 'session' AS kind, session_id AS at_session, CAST(NULL AS BIGINT) AS at_project, seq AS number FROM sessions
    WHERE user_id = $1 AND seq > (SELECT bound_seq FROM bound) AND seq <= (SELECT looked FROM reach)
    UNION ALL
    SELECT 'project', NULL, id, seq FROM projects
    WHERE user_id = $1 AND seq > (SELECT bound_seq FROM bound) AND seq <= (SELECT looked FROM reach)
    UNION ALL
    SELECT 'preferences', NULL, NULL, seq FROM user_settings
    WHERE user_id = $1 AND seq > (SELECT bound_seq FROM bound) AND seq <= (SELECT looked FROM reach)
    ORDER BY number LIMIT 201
),
news AS (
    SELECT * FROM changed
    UNION ALL
    SELECT 'running', session_id, NULL, NULL FROM sessions WHERE user_id = $1 AND status = 'running'
)
SELECT counted, looked, kind, number, COALESCE(changed_at, projects.updated_at, user_settings.updated_at),
    session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), ''),
    projects.id, projects.name, projects.description, projects.archived_at, projects.created_at,
    timezone, timezone_changed_at, daily_goal, default_duration, short_break_duration, long_break_duration,
    notification_sound, theme_preference, leaderboard_opt_in
FROM counter
CROSS JOIN reach
LEFT JOIN news ON true
LEFT JOIN sessions ON session_id = at_session
LEFT JOIN projects ON id = at_project
LEFT JOIN user_settings ON kind = 'preferences' AND user_settings.user_id = $1
ORDER BY number IS NULL, number
