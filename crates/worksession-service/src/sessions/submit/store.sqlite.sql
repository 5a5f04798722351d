-- Stores a submit, one statement for the rows of each table in the order of `store_one`. See store.postgres.sql. The
-- write transaction around it excludes all other writers.
UPDATE sessions
SET status = :status, ended_at = :ended_at,
    local_day = :local_day, utc_offset = :utc_offset,
    submitted_at = :submitted_at, start_time = :start_time,
    end_time = :end_time, credited_minutes = :credited_minutes,
    points_centi = :points_centi, note = :note,
    quality_rating = :quality_rating, tags = :tags,
    submit_digest = :submit_digest, submit_result = :submit_result,
    on_boards = :on_boards, changed_at = :submitted_at,
    seq = (SELECT seq FROM user_sync WHERE user_sync.user_id = sessions.user_id)
WHERE session_id = :session_id;

INSERT INTO user_totals (
    user_id, version, points_centi, sessions, completed_sessions, minutes, streak_run, streak_longest, streak_last_day,
    streak_last_start, streak_last_offset, best_hour, best_hour_minutes, favorite_category, favorite_category_minutes
)
VALUES (:user_id, :version, :points_centi, :sessions,
    :completed_sessions, :minutes, :streak_run, :streak_longest,
    :streak_last_day, :streak_last_start, :streak_last_offset, :best_hour,
    :best_hour_minutes, :favorite_category, :favorite_category_minutes)
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
VALUES (:user_id, :day, :sessions, :minutes, :points_centi,
    :first_start, :first_offset, :last_start, :last_offset,
    :by_hour, :by_category, :by_project)
ON CONFLICT (user_id, day) DO UPDATE
SET sessions = t.sessions + excluded.sessions, minutes = t.minutes + excluded.minutes,
    points_centi = t.points_centi + excluded.points_centi, first_start = excluded.first_start,
    first_offset = excluded.first_offset, last_start = excluded.last_start, last_offset = excluded.last_offset,
    by_hour = excluded.by_hour, by_category = excluded.by_category, by_project = excluded.by_project;

INSERT INTO user_month (user_id, month, by_day, by_hour, by_category, by_project)
VALUES (:user_id, :month, :by_day, :by_hour, :by_category,
    :by_project)
ON CONFLICT (user_id, month) DO UPDATE
SET by_day = excluded.by_day, by_hour = excluded.by_hour, by_category = excluded.by_category,
    by_project = excluded.by_project;

INSERT INTO user_hour AS t (user_id, hour, minutes)
VALUES (:user_id, :hour, :minutes)
ON CONFLICT (user_id, hour) DO UPDATE SET minutes = t.minutes + excluded.minutes;

INSERT INTO user_category AS t (user_id, category, minutes)
VALUES (:user_id, :category, :minutes)
ON CONFLICT (user_id, category) DO UPDATE SET minutes = t.minutes + excluded.minutes;

INSERT INTO board AS t (scope, period, start, user_id, username, points_centi, minutes, sessions, reached_at)
SELECT :scope, :period, :start, :user_id, :username,
    :points_centi, :minutes, :sessions, :reached_at
WHERE NOT COALESCE((SELECT deleted FROM teams WHERE team_id = :scope), false)
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
VALUES (:user_id, :badge, :earned_at)
ON CONFLICT DO NOTHING;

INSERT INTO session_flags (session_id, user_id, kind, severity, amount, created_at)
VALUES (:session_id, :user_id, :kind, :severity, :amount,
    :created_at);
