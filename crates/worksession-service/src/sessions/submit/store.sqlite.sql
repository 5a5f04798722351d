-- Stores the submit in $1: see store.postgres.sql. The write transaction around it is what nobody else changes anything in.
INSERT INTO user_sync (user_id, seq) VALUES ($1 ->> 'user_id', 1)
ON CONFLICT (user_id) DO UPDATE SET seq = seq + 1;

UPDATE sessions
SET status = $1 ->> '$.session.status', ended_at = $1 ->> '$.session.ended_at',
    local_day = $1 ->> '$.session.local_day', utc_offset = $1 ->> '$.session.utc_offset',
    submitted_at = $1 ->> '$.session.submitted_at', start_time = $1 ->> '$.session.start_time',
    end_time = $1 ->> '$.session.end_time', credited_minutes = $1 ->> '$.session.credited_minutes',
    points_centi = $1 ->> '$.session.points_centi', note = $1 ->> '$.session.note',
    quality_rating = $1 ->> '$.session.quality_rating', tags = $1 ->> '$.session.tags',
    submit_digest = $1 ->> '$.session.submit_digest', submit_result = $1 ->> '$.session.submit_result',
    on_boards = $1 ->> '$.session.on_boards', changed_at = $1 ->> '$.session.submitted_at',
    seq = (SELECT seq FROM user_sync WHERE user_id = $1 ->> 'user_id')
WHERE session_id = $1 ->> '$.session.session_id';

INSERT INTO user_totals (
    user_id, version, points_centi, sessions, completed_sessions, minutes, streak_run, streak_longest, streak_last_day,
    streak_last_start, streak_last_offset, best_hour, best_hour_minutes, favorite_category, favorite_category_minutes
)
SELECT value ->> 'user_id', value ->> 'version', value ->> 'points_centi', value ->> 'sessions',
    value ->> 'completed_sessions', value ->> 'minutes', value ->> 'streak_run', value ->> 'streak_longest',
    value ->> 'streak_last_day', value ->> 'streak_last_start', value ->> 'streak_last_offset', value ->> 'best_hour',
    value ->> 'best_hour_minutes', value ->> 'favorite_category', value ->> 'favorite_category_minutes'
FROM json_each($1, '$.totals') WHERE true
ON CONFLICT (user_id) DO UPDATE
SET version = excluded.version, points_centi = excluded.points_centi, sessions = excluded.sessions,
    completed_sessions = excluded.completed_sessions, minutes = excluded.minutes, streak_run = excluded.streak_run,
    streak_longest = excluded.streak_longest, streak_last_day = excluded.streak_last_day,
    streak_last_start = excluded.streak_last_start, streak_last_offset = excluded.streak_last_offset,
    best_hour = excluded.best_hour, best_hour_minutes = excluded.best_hour_minutes,
    favorite_category = excluded.favorite_category, favorite_category_minutes = excluded.favorite_category_minutes;

INSERT INTO user_day AS t (
    user_id, day, sessions, minutes, points_centi, first_start, first_offset, last_start, last_offset, by_hour,
    by_category, by_project
)
SELECT value ->> 'user_id', value ->> 'day', value ->> 'sessions', value ->> 'minutes', value ->> 'points_centi',
    value ->> 'first_start', value ->> 'first_offset', value ->> 'last_start', value ->> 'last_offset',
    value ->> 'by_hour', value ->> 'by_category', value ->> 'by_project'
FROM json_each($1, '$.days') WHERE true
ON CONFLICT (user_id, day) DO UPDATE
SET sessions = t.sessions + excluded.sessions, minutes = t.minutes + excluded.minutes,
    points_centi = t.points_centi + excluded.points_centi, first_start = excluded.first_start,
    first_offset = excluded.first_offset, last_start = excluded.last_start, last_offset = excluded.last_offset,
    by_hour = excluded.by_hour, by_category = excluded.by_category, by_project = excluded.by_project;

INSERT INTO user_month (user_id, month, by_day, by_hour, by_category, by_project)
SELECT value ->> 'user_id', value ->> 'month', value ->> 'by_day', value ->> 'by_hour', value ->> 'by_category',
    value ->> 'by_project'
FROM json_each($1, '$.months') WHERE true
ON CONFLICT (user_id, month) DO UPDATE
SET by_day = excluded.by_day, by_hour = excluded.by_hour, by_category = excluded.by_category,
    by_project = excluded.by_project;

INSERT INTO user_hour AS t (user_id, hour, minutes)
SELECT value ->> 'user_id', value ->> 'hour', value ->> 'minutes'
FROM json_each($1, '$.hours') WHERE true
ON CONFLICT (user_id, hour) DO UPDATE SET minutes = t.minutes + excluded.minutes;

INSERT INTO user_category AS t (user_id, category, minutes)
SELECT value ->> 'user_id', value ->> 'category', value ->> 'minutes'
FROM json_each($1, '$.categories') WHERE true
ON CONFLICT (user_id, category) DO UPDATE SET minutes = t.minutes + excluded.minutes;

INSERT INTO board AS t (scope, period, start, user_id, username, points_centi, minutes, sessions, reached_at)
SELECT value ->> 'scope', value ->> 'period', value ->> 'start', value ->> 'user_id', value ->> 'username',
    value ->> 'points_centi', value ->> 'minutes', value ->> 'sessions', value ->> 'reached_at'
FROM json_each($1, '$.boards')
WHERE NOT COALESCE((SELECT deleted FROM teams WHERE team_id = value ->> 'scope'), false)
ON CONFLICT (scope, period, start, user_id) DO UPDATE
SET username = excluded.username, points_centi = t.points_centi + excluded.points_centi,
    minutes = t.minutes + excluded.minutes, sessions = t.sessions + excluded.sessions,
    reached_at = CASE
        WHEN excluded.points_centi > 0 AND (t.points_centi = 0 OR excluded.reached_at > t.reached_at)
            THEN excluded.reached_at
        WHEN excluded.points_centi = 0 AND t.points_centi = 0 AND excluded.reached_at < t.reached_at
            THEN excluded.reached_at
        ELSE t.reached_at
    END;

INSERT INTO user_badges (user_id, badge, earned_at)
SELECT value ->> 'user_id', value ->> 'badge', value ->> 'earned_at'
FROM json_each($1, '$.badges') WHERE true
ON CONFLICT DO NOTHING;

INSERT INTO session_flags (session_id, user_id, kind, severity, amount, created_at)
SELECT value ->> 'session_id', value ->> 'user_id', value ->> 'kind', value ->> 'severity', value ->> 'amount',
    value ->> 'created_at'
FROM json_each($1, '$.flags');

INSERT INTO outbox (id, exchange, routing_key, body, created_at)
SELECT value ->> 'id', value ->> 'exchange', value ->> 'routing_key', value ->> 'body', value ->> 'created_at'
FROM json_each($1, '$.events');
