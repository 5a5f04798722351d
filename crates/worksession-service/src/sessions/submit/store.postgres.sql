-- Stores the submits in $1, one per user, and returns the stored sessions. `user_sync` is the lock of all of a user's
-- data: skips users whose row is locked or has changed since it was loaded. The arrays (`= ANY (ARRAY(SELECT …))`) keep
-- PostgreSQL from joins, as db-kit's connection.rs explains.
WITH attempts AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS attempts (
        user_id bigint, seen bigint, session json, totals json, days json, months json, hours json, categories json,
        boards json, badges json, flags json, events json
    )
),
free AS MATERIALIZED (
    SELECT user_id, seq FROM user_sync WHERE user_id = ANY (ARRAY(SELECT user_id FROM attempts)) FOR UPDATE SKIP LOCKED
),
bump AS (
    UPDATE user_sync SET seq = seq + 1
    WHERE user_id = ANY (ARRAY(SELECT user_id FROM free JOIN attempts USING (user_id) WHERE free.seq = attempts.seen))
    RETURNING user_id, seq
),
stored AS MATERIALIZED (SELECT attempts.*, bump.seq FROM attempts JOIN bump USING (user_id)),
submitted AS (
    UPDATE sessions
    SET status = new.status, ended_at = new.ended_at, local_day = new.local_day, utc_offset = new.utc_offset,
        submitted_at = new.submitted_at, start_time = new.start_time, end_time = new.end_time,
        credited_minutes = new.credited_minutes, points_centi = new.points_centi, note = new.note,
        quality_rating = new.quality_rating, tags = new.tags, submit_digest = new.submit_digest,
        submit_result = new.submit_result, on_boards = new.on_boards, changed_at = new.submitted_at, seq = stored.seq
    FROM stored CROSS JOIN LATERAL json_populate_record(NULL::sessions, stored.session) AS new
    WHERE sessions.session_id = new.session_id
      AND sessions.session_id = ANY (ARRAY(SELECT session ->> 'session_id' FROM stored))
    RETURNING sessions.session_id
),
totals AS (
    INSERT INTO user_totals (
        user_id, version, points_centi, sessions, completed_sessions, minutes, streak_run, streak_longest,
        streak_last_day, streak_last_start, streak_last_offset, best_hour, best_hour_minutes, favorite_category,
        favorite_category_minutes
    )
    SELECT new.user_id, version, points_centi, sessions, completed_sessions, minutes, streak_run, streak_longest,
        streak_last_day, streak_last_start, streak_last_offset, best_hour, best_hour_minutes, favorite_category,
        favorite_category_minutes
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::user_totals, totals) AS new
    ON CONFLICT (user_id) DO UPDATE
    SET version = excluded.version, points_centi = excluded.points_centi, sessions = excluded.sessions,
        completed_sessions = excluded.completed_sessions, minutes = excluded.minutes, streak_run = excluded.streak_run,
        streak_longest = excluded.streak_longest, streak_last_day = excluded.streak_last_day,
        streak_last_start = excluded.streak_last_start, streak_last_offset = excluded.streak_last_offset,
        best_hour = excluded.best_hour, best_hour_minutes = excluded.best_hour_minutes,
        favorite_category = excluded.favorite_category, favorite_category_minutes = excluded.favorite_category_minutes
),
days AS (
    INSERT INTO user_day AS t (
        user_id, day, sessions, minutes, points_centi, first_start, first_offset, last_start, last_offset, by_hour,
        by_category, by_project
    )
    SELECT new.user_id, day, sessions, minutes, points_centi, first_start, first_offset, last_start, last_offset, by_hour,
        by_category, by_project
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::user_day, days) AS new
    ON CONFLICT (user_id, day) DO UPDATE
    SET sessions = t.sessions + excluded.sessions, minutes = t.minutes + excluded.minutes,
        points_centi = t.points_centi + excluded.points_centi, first_start = excluded.first_start,
        first_offset = excluded.first_offset, last_start = excluded.last_start, last_offset = excluded.last_offset,
        by_hour = excluded.by_hour, by_category = excluded.by_category, by_project = excluded.by_project
),
months AS (
    INSERT INTO user_month (user_id, month, by_day, by_hour, by_category, by_project)
    SELECT new.user_id, month, by_day, by_hour, by_category, by_project
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::user_month, months) AS new
    ON CONFLICT (user_id, month) DO UPDATE
    SET by_day = excluded.by_day, by_hour = excluded.by_hour, by_category = excluded.by_category,
        by_project = excluded.by_project
),
hours AS (
    INSERT INTO user_hour AS t (user_id, hour, minutes)
    SELECT new.user_id, hour, minutes
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::user_hour, hours) AS new
    ON CONFLICT (user_id, hour) DO UPDATE SET minutes = t.minutes + excluded.minutes
),
categories AS (
    INSERT INTO user_category AS t (user_id, category, minutes)
    SELECT new.user_id, category, minutes
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::user_category, categories) AS new
    ON CONFLICT (user_id, category) DO UPDATE SET minutes = t.minutes + excluded.minutes
),
-- `reached_at` depends on points, not on the order: submits may commit in another order than they arrived. A deleted team
-- gets no row, because its boards may be erased already.
boards AS (
    INSERT INTO board AS t (scope, period, start, user_id, username, points_centi, minutes, sessions, reached_at)
    SELECT scope, period, start, new.user_id, username, points_centi, minutes, sessions, reached_at
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::board, boards) AS new
    WHERE NOT COALESCE((SELECT deleted FROM teams WHERE team_id = scope), false)
    ON CONFLICT (scope, period, start, user_id) DO UPDATE
    SET username = excluded.username, points_centi = t.points_centi + excluded.points_centi,
        minutes = t.minutes + excluded.minutes, sessions = t.sessions + excluded.sessions,
        reached_at = CASE
            WHEN excluded.points_centi > 0 AND (t.points_centi = 0 OR excluded.reached_at > t.reached_at)
                THEN excluded.reached_at
            WHEN excluded.points_centi = 0 AND t.points_centi = 0 AND excluded.reached_at < t.reached_at
                THEN excluded.reached_at
            ELSE t.reached_at
        END
),
badges AS (
    INSERT INTO user_badges (user_id, badge, earned_at)
    SELECT new.user_id, badge, earned_at
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::user_badges, badges) AS new
    ON CONFLICT DO NOTHING
),
flags AS (
    INSERT INTO session_flags (session_id, user_id, kind, severity, amount, created_at)
    SELECT new.session_id, new.user_id, kind, severity, amount, created_at
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::session_flags, flags) AS new
),
queued AS (
    INSERT INTO outbox (id, exchange, routing_key, body, created_at)
    SELECT id, exchange, routing_key, body, created_at
    FROM stored CROSS JOIN LATERAL json_populate_recordset(NULL::outbox, events) AS new
)
SELECT session_id FROM submitted
