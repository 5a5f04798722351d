-- Counts each user's changes, so that clients can ask for those after the last one that they saw. The counter's row is
-- the first lock of every change. A user's changes therefore become visible in the order of their numbers, which are
-- stored as `seq`.
CREATE TABLE user_sync (
    user_id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL
);

-- Preferences and time zone; a user without a row has the defaults.
CREATE TABLE user_settings (
    user_id BIGINT PRIMARY KEY,
    timezone TEXT NOT NULL,
    timezone_changed_at TIMESTAMP,
    daily_goal INTEGER NOT NULL,
    default_duration INTEGER NOT NULL,
    short_break_duration INTEGER NOT NULL,
    long_break_duration INTEGER NOT NULL,
    notification_sound TEXT NOT NULL,
    theme_preference TEXT NOT NULL,
    leaderboard_opt_in BOOLEAN NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0
);

-- Personal projects.
CREATE TABLE projects (
    id BIGSERIAL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    archived_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX projects_by_user ON projects (user_id, id);

-- Projects of teams. The team itself is in the identity area; its name here is the last one received.
CREATE TABLE team_projects (
    id BIGSERIAL PRIMARY KEY,
    team_id BIGINT NOT NULL,
    team_name TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    chat_channel TEXT NOT NULL,
    is_public BOOLEAN NOT NULL,
    archived_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX team_projects_by_team ON team_projects (team_id, id);

-- The latest known state of each team in the identity area, so that an older event that comes later changes nothing.
CREATE TABLE teams (
    team_id BIGINT PRIMARY KEY,
    -- when the change happened in the identity area
    told_at TIMESTAMP NOT NULL,
    -- final: no later event undoes it
    deleted BOOLEAN NOT NULL
);

-- Deleted accounts and teams, until all that they left is deleted.
CREATE TABLE departures (
    kind TEXT NOT NULL CHECK (kind IN ('user', 'team')),
    id BIGINT NOT NULL,
    noted_at TIMESTAMP NOT NULL,
    -- when to search for what is left
    due_at TIMESTAMP NOT NULL,
    PRIMARY KEY (kind, id)
);

-- Planned and executed focus sessions. The plan is locked from the start. The names of the project and the user are
-- stored as of then, so that events and lists need no second query.
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
    -- JSON, the chat of the team project at the start
    chat TEXT,
    status TEXT NOT NULL CHECK (status IN ('running', 'awaiting_submit', 'completed', 'partial', 'abandoned')),
    started_at TIMESTAMP NOT NULL,
    expected_end_at TIMESTAMP NOT NULL,
    -- when the session ended for the server; null only while it runs
    ended_at TIMESTAMP,
    -- the user's zone at the start, from which the submit takes the local day and the offset
    zone TEXT NOT NULL,
    local_day DATE,
    utc_offset INTEGER,
    submitted_at TIMESTAMP,
    -- as the client reported it
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
    -- the response to the submit, for repeated requests
    submit_result TEXT,
    locked_mismatches INTEGER NOT NULL DEFAULT 0,
    -- the number and the time of the last change
    seq BIGINT NOT NULL DEFAULT 0,
    changed_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00',
    -- whether the session's credit counts on the boards
    on_boards BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK ((status = 'running') = (ended_at IS NULL))
);
-- One running session per user.
CREATE UNIQUE INDEX sessions_user_id_key ON sessions (user_id) WHERE status = 'running';
-- Sessions that can be submitted, which the sweeper searches.
CREATE INDEX sessions_open ON sessions (user_id, expected_end_at) WHERE status IN ('running', 'awaiting_submit');
-- In the exact order of the list: with fewer columns PostgreSQL would rather sort a user's whole history.
CREATE INDEX sessions_history ON sessions (user_id, started_at, session_id);
-- What a team does on one of its projects, newest first. Sessions outside team projects are not in it.
CREATE INDEX sessions_activity ON sessions (project_id, started_at) WHERE team_id IS NOT NULL;
CREATE INDEX sessions_retried_start ON sessions (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_retried_submit ON sessions (user_id, submit_digest) WHERE submit_digest IS NOT NULL;
CREATE INDEX sessions_changes ON sessions (user_id, seq);
-- Recent changes of all users, for live events.
CREATE INDEX sessions_changed ON sessions (changed_at);

-- Signs of a manipulated client, for people to review.
CREATE TABLE session_flags (
    id BIGSERIAL PRIMARY KEY,
    session_id TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('info', 'suspect')),
    created_at TIMESTAMP NOT NULL,
    -- the measure, in the unit of its kind: seconds, minutes or attempts
    amount BIGINT NOT NULL DEFAULT 0,
    -- the result of the review
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'cleared', 'upheld')),
    decided_at TIMESTAMP,
    decision TEXT
);
CREATE INDEX session_flags_session ON session_flags (session_id);
CREATE INDEX session_flags_open ON session_flags (id) WHERE state = 'open';

-- The totals of a user. Each submit writes this table and the rollups below. They can be rebuilt from `sessions`.
CREATE TABLE user_totals (
    user_id BIGINT PRIMARY KEY,
    -- counts submits and rebuilds
    version BIGINT NOT NULL,
    points_centi BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    completed_sessions BIGINT NOT NULL,
    minutes BIGINT NOT NULL,
    -- the run of counted days that ends with streak_last_day, and the longest of all time
    streak_run INTEGER NOT NULL,
    streak_longest INTEGER NOT NULL,
    streak_last_day DATE,
    streak_last_start TIMESTAMP,
    streak_last_offset INTEGER,
    -- the largest rows of user_hour and user_category; minutes only grow, so each submit keeps the maximum current
    best_hour INTEGER NOT NULL,
    best_hour_minutes BIGINT NOT NULL,
    favorite_category TEXT NOT NULL,
    favorite_category_minutes BIGINT NOT NULL
);

-- The sums of each local day, for streaks, goals and analytics.
CREATE TABLE user_day (
    user_id BIGINT NOT NULL,
    day DATE NOT NULL,
    sessions INTEGER NOT NULL,
    minutes INTEGER NOT NULL,
    points_centi BIGINT NOT NULL,
    -- first and last credited start (UTC), each with the zone's offset then, in seconds
    first_start TIMESTAMP NOT NULL,
    first_offset INTEGER NOT NULL,
    last_start TIMESTAMP NOT NULL,
    last_offset INTEGER NOT NULL,
    -- breakdowns of the day: JSON objects from the hour, the category or the project to
    -- [sessions, minutes, points in hundredths]
    by_hour TEXT NOT NULL DEFAULT '{}',
    by_category TEXT NOT NULL DEFAULT '{}',
    by_project TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, day)
);

-- Breakdowns of each month: JSON objects from the day, the hour, the category or the project to
-- [sessions, minutes, points in hundredths]. A year takes twelve rows instead of one for each day.
CREATE TABLE user_month (
    user_id BIGINT NOT NULL,
    -- the month's first day
    month DATE NOT NULL,
    by_day TEXT NOT NULL,
    by_hour TEXT NOT NULL,
    by_category TEXT NOT NULL,
    by_project TEXT NOT NULL,
    PRIMARY KEY (user_id, month)
);

-- Minutes of each hour of the day, which determine the best one.
CREATE TABLE user_hour (
    user_id BIGINT NOT NULL,
    hour INTEGER NOT NULL CHECK (hour BETWEEN 0 AND 23),
    minutes BIGINT NOT NULL,
    PRIMARY KEY (user_id, hour)
);

-- Minutes of each category, which determine the favourite one.
CREATE TABLE user_category (
    user_id BIGINT NOT NULL,
    category TEXT NOT NULL,
    minutes BIGINT NOT NULL,
    PRIMARY KEY (user_id, category)
);

-- Badges, which are given once and never taken back.
CREATE TABLE user_badges (
    user_id BIGINT NOT NULL,
    badge TEXT NOT NULL,
    earned_at TIMESTAMP NOT NULL,
    PRIMARY KEY (user_id, badge)
);

-- Leaderboards by UTC periods. Scope 0 counts all sessions, any other those on that team's projects.
CREATE TABLE board (
    scope BIGINT NOT NULL,
    period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'all')),
    -- the period's first day; that of 'all' is 1970-01-01
    start DATE NOT NULL,
    user_id BIGINT NOT NULL,
    username TEXT NOT NULL,
    points_centi BIGINT NOT NULL,
    minutes BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    -- when the points were reached; of users with equal points, the earlier one ranks higher
    reached_at TIMESTAMP NOT NULL,
    PRIMARY KEY (scope, period, start, user_id)
);
CREATE INDEX board_user ON board (user_id);

-- The chat of a team project, and which events it receives. Only the notifier uses its address.
CREATE TABLE chat_integrations (
    team_project_id BIGINT PRIMARY KEY REFERENCES team_projects (id),
    provider TEXT,
    -- increases with each change
    revision BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'off')),
    reason TEXT,
    updated_at TIMESTAMP NOT NULL,
    -- the last test
    test_id TEXT,
    test_outcome TEXT CHECK (test_outcome IN ('pending', 'delivered', 'failed', 'skipped')),
    test_reason TEXT,
    test_at TIMESTAMP,
    -- separated by commas: planned, finished, abandoned
    announce TEXT NOT NULL DEFAULT 'planned,finished',
    -- who created or last changed it, and with which credentials, as in webhooks
    created_by BIGINT,
    client_id TEXT,
    session_id TEXT,
    -- the encrypted address, for a chat that becomes active again
    sealed TEXT
);
CREATE INDEX chat_integrations_by_maker ON chat_integrations (created_by);

-- The outcome of each notification, as the notifier reports it. All queries are by session.
CREATE TABLE notifications (
    event_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    team_project_id BIGINT,
    outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'failed', 'skipped')),
    reason TEXT,
    settled_at TIMESTAMP NOT NULL,
    PRIMARY KEY (session_id, event_id)
);

-- Webhooks of users, which receive their sessions, and of teams, which receive those on the team's projects.
CREATE TABLE webhooks (
    id BIGSERIAL PRIMARY KEY,
    -- exactly one of the two
    user_id BIGINT,
    team_id BIGINT,
    -- numbers the webhooks of an owner, which limits them; null when it is deleted
    slot INTEGER CHECK (slot BETWEEN 1 AND 20),
    description TEXT NOT NULL,
    -- the address without its path, which may be secret
    origin TEXT NOT NULL,
    -- the encrypted address and signing secrets
    sealed TEXT,
    -- event types, separated by spaces
    events TEXT NOT NULL,
    -- increases with each change
    revision BIGINT NOT NULL,
    -- 'deleted' until its log is deleted too
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'off', 'deleted')),
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    secret_changed_at TIMESTAMP NOT NULL,
    -- who created or last changed it, and with which credentials; it is paused when those end
    created_by BIGINT,
    -- the OAuth client, if there was one
    client_id TEXT,
    -- the SSO session, if there was one
    session_id TEXT,
    CHECK ((user_id IS NULL) <> (team_id IS NULL)),
    CONSTRAINT webhooks_user_id_slot_key UNIQUE (user_id, slot),
    CONSTRAINT webhooks_team_id_slot_key UNIQUE (team_id, slot)
);
CREATE INDEX webhooks_by_maker ON webhooks (created_by);
CREATE INDEX webhooks_deleted ON webhooks (id) WHERE status = 'deleted';

-- The log of webhook deliveries, kept for 30 days. Only the notifier has the bodies.
CREATE TABLE webhook_deliveries (
    -- sorts by time
    delivery_id TEXT PRIMARY KEY,
    webhook_id BIGINT NOT NULL,
    -- the user whose action the event reports
    user_id BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    session_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'skipped')),
    -- the step of the notifier's last report
    step BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    status_code INTEGER,
    duration_ms BIGINT,
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    last_attempt_at TIMESTAMP,
    next_attempt_at TIMESTAMP
);
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, delivery_id);
CREATE INDEX webhook_deliveries_by_user ON webhook_deliveries (user_id, delivery_id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

-- The contacts who get a mail when a project's chat or a webhook is disabled.
CREATE TABLE hook_contacts (
    -- 'chat/' and the team project's id, or 'webhook/' and the webhook's
    hook TEXT PRIMARY KEY,
    -- the account that configured it last
    user_id BIGINT NOT NULL,
    -- the team whose chat or webhook it is; null for a user's own webhook
    team_id BIGINT,
    -- the encrypted name and address, which was verified then
    sealed TEXT NOT NULL
);
CREATE INDEX hook_contacts_user ON hook_contacts (user_id, team_id);

-- Events that wait for the broker, inserted in the transaction of the change that they report.
CREATE TABLE outbox (
    id TEXT NOT NULL,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'unroutable')),
    -- One index serves pending rows, by age, and unroutable rows.
    PRIMARY KEY (state, id)
);

-- Leases of events as ranges of ids with both ends: leasing and releasing rows changes none of them.
CREATE TABLE outbox_leases (
    first_id TEXT PRIMARY KEY,
    last_id TEXT NOT NULL,
    -- All ranges of a batch are leased and released together.
    batch_id TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);

-- Events that a consumer has processed, so that a redelivery changes nothing.
CREATE TABLE inbox (
    consumer TEXT NOT NULL,
    event_id TEXT NOT NULL,
    received_at TIMESTAMP NOT NULL,
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX inbox_age ON inbox (received_at);
