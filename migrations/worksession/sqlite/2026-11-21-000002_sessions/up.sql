-- Planned and executed focus sessions. What was planned is locked from the start; the project's and the
-- user's names are kept as they were then, so that events and lists need no second look.
CREATE TABLE sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    username TEXT NOT NULL,
    client TEXT NOT NULL,
    category TEXT NOT NULL,
    planned_duration INTEGER NOT NULL CHECK (planned_duration BETWEEN 1 AND 480),
    planning_note TEXT NOT NULL,
    -- team_N, personal_N or none
    project_id TEXT NOT NULL,
    project_name TEXT NOT NULL,
    team_id BIGINT,
    team_name TEXT,
    -- JSON, where the team was to be told at the start
    chat TEXT,
    status TEXT NOT NULL CHECK (status IN ('running', 'awaiting_submit', 'completed', 'partial', 'abandoned')),
    started_at TIMESTAMP NOT NULL,
    expected_end_at TIMESTAMP NOT NULL,
    -- when the server saw it end; null only while it runs
    ended_at TIMESTAMP,
    -- the user's zone at the start, from which the local day and the offset are taken at submit
    zone TEXT NOT NULL,
    local_day DATE,
    utc_offset INTEGER,
    submitted_at TIMESTAMP,
    -- what the client said
    start_time TIMESTAMP,
    end_time TIMESTAMP,
    credited_minutes INTEGER NOT NULL DEFAULT 0 CHECK (credited_minutes BETWEEN 0 AND planned_duration),
    points_centi BIGINT NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    quality_rating INTEGER CHECK (quality_rating BETWEEN 1 AND 5),
    -- JSON array
    tags TEXT NOT NULL DEFAULT '[]',
    start_digest TEXT NOT NULL,
    idempotency_key TEXT,
    submit_digest TEXT,
    -- the answer to the submit, for those who ask again
    submit_result TEXT,
    locked_mismatches INTEGER NOT NULL DEFAULT 0,
    CHECK ((status = 'running') = (ended_at IS NULL))
);
-- One running session per user.
CREATE UNIQUE INDEX sessions_user_id_key ON sessions (user_id) WHERE status = 'running';
-- Those that can be submitted, and that the sweeper looks through.
CREATE INDEX sessions_open ON sessions (user_id, expected_end_at) WHERE status IN ('running', 'awaiting_submit');
CREATE INDEX sessions_history ON sessions (user_id, started_at);
CREATE INDEX sessions_retried_start ON sessions (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_retried_submit ON sessions (user_id, submit_digest) WHERE submit_digest IS NOT NULL;

-- Signs of a manipulated client, for people to look at.
CREATE TABLE session_flags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('info', 'suspect')),
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX session_flags_session ON session_flags (session_id);

-- Rollups, written with each submit; all of them can be computed again from `sessions`.
CREATE TABLE user_totals (
    user_id BIGINT PRIMARY KEY,
    -- counts submits: one that was computed from an older state is not applied
    version BIGINT NOT NULL,
    points_centi BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    completed_sessions BIGINT NOT NULL,
    minutes BIGINT NOT NULL,
    -- the run of counted days that ends with streak_last_day, and the longest ever
    streak_run INTEGER NOT NULL,
    streak_longest INTEGER NOT NULL,
    streak_last_day DATE,
    streak_last_start TIMESTAMP,
    streak_last_offset INTEGER,
    -- the largest rows of user_hour and user_category: minutes only grow, so the maximum is kept with them
    best_hour INTEGER NOT NULL,
    best_hour_minutes BIGINT NOT NULL,
    favorite_category TEXT NOT NULL,
    favorite_category_minutes BIGINT NOT NULL
);

CREATE TABLE user_day (
    user_id BIGINT NOT NULL,
    day DATE NOT NULL,
    sessions INTEGER NOT NULL,
    minutes INTEGER NOT NULL,
    points_centi BIGINT NOT NULL,
    -- first and last credited start (UTC) and the zone's offset then, in seconds
    first_start TIMESTAMP NOT NULL,
    first_offset INTEGER NOT NULL,
    last_start TIMESTAMP NOT NULL,
    last_offset INTEGER NOT NULL,
    PRIMARY KEY (user_id, day)
);

CREATE TABLE user_hour (
    user_id BIGINT NOT NULL,
    hour INTEGER NOT NULL CHECK (hour BETWEEN 0 AND 23),
    minutes BIGINT NOT NULL,
    PRIMARY KEY (user_id, hour)
);

CREATE TABLE user_category (
    user_id BIGINT NOT NULL,
    category TEXT NOT NULL,
    minutes BIGINT NOT NULL,
    PRIMARY KEY (user_id, category)
);

-- Given once, never taken back.
CREATE TABLE user_badges (
    user_id BIGINT NOT NULL,
    badge TEXT NOT NULL,
    earned_at TIMESTAMP NOT NULL,
    PRIMARY KEY (user_id, badge)
);
