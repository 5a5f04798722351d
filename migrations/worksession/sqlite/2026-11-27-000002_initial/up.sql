-- Each user's changes are counted, so that a client can ask for what came after the last it saw. The counter's row is
-- the first that a change locks: the changes of one user become visible in the order of their numbers, the `seq` of
-- what was changed.
CREATE TABLE user_sync (
    user_id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL
);

-- Preferences and time zone; who has no row has the defaults.
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
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    archived_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX projects_by_user ON projects (user_id, id);

-- Projects of teams. The team itself lives in the identity area; its name is the last one told here.
CREATE TABLE team_projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
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

-- The last word of the identity area about each team, so that an older one that comes later changes nothing.
CREATE TABLE teams (
    team_id BIGINT PRIMARY KEY,
    -- when the change happened there
    told_at TIMESTAMP NOT NULL,
    -- for good: no later word undoes it
    deleted BOOLEAN NOT NULL
);

-- Accounts and teams that are gone for good, until nothing is left to take away.
CREATE TABLE departures (
    kind TEXT NOT NULL CHECK (kind IN ('user', 'team')),
    id BIGINT NOT NULL,
    noted_at TIMESTAMP NOT NULL,
    -- when to look for what is left
    due_at TIMESTAMP NOT NULL,
    PRIMARY KEY (kind, id)
);

-- Planned and executed focus sessions. What was planned is locked from the start; the project's and the user's names
-- are kept as they were then, so that events and lists need no second look.
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
    -- the number and the time of the last change
    seq BIGINT NOT NULL DEFAULT 0,
    changed_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00',
    -- whether the session's credit stands on the boards
    on_boards BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK ((status = 'running') = (ended_at IS NULL))
);
-- One running session per user.
CREATE UNIQUE INDEX sessions_user_id_key ON sessions (user_id) WHERE status = 'running';
-- Those that can be submitted, and that the sweeper looks through.
CREATE INDEX sessions_open ON sessions (user_id, expected_end_at) WHERE status IN ('running', 'awaiting_submit');
-- In the very order of the list: with less PostgreSQL would rather sort a user's whole history.
CREATE INDEX sessions_history ON sessions (user_id, started_at, session_id);
-- What a team does on one of its projects, newest first. Sessions that are nobody's but their user's are not in it.
CREATE INDEX sessions_activity ON sessions (project_id, started_at) WHERE team_id IS NOT NULL;
CREATE INDEX sessions_retried_start ON sessions (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_retried_submit ON sessions (user_id, submit_digest) WHERE submit_digest IS NOT NULL;
CREATE INDEX sessions_changes ON sessions (user_id, seq);
-- What changed lately, whoever did it, for live events.
CREATE INDEX sessions_changed ON sessions (changed_at);

-- Signs of a manipulated client, for people to look at.
CREATE TABLE session_flags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('info', 'suspect')),
    created_at TIMESTAMP NOT NULL,
    -- what was seen, in the unit of its kind: seconds, minutes, attempts
    amount BIGINT NOT NULL DEFAULT 0,
    -- what somebody decided about it
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'cleared', 'upheld')),
    decided_at TIMESTAMP,
    decision TEXT
);
CREATE INDEX session_flags_session ON session_flags (session_id);
CREATE INDEX session_flags_open ON session_flags (id) WHERE state = 'open';

-- What a user has reached in all. This and the tables below are written with each submit, and can be computed again
-- from `sessions`.
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

-- What each local day brought, for streaks, goals and analytics.
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
    -- how the day divides: JSON objects from the hour, the category or the project to
    -- [sessions, minutes, points in hundredths]
    by_hour TEXT NOT NULL DEFAULT '{}',
    by_category TEXT NOT NULL DEFAULT '{}',
    by_project TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, day)
);

-- How each month divides: JSON objects from the day of the month, the hour, the category or the project to
-- [sessions, minutes, points in hundredths]. A year is then twelve rows, not one for each of its days.
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

-- Minutes of each hour of the day, from which the best one is found.
CREATE TABLE user_hour (
    user_id BIGINT NOT NULL,
    hour INTEGER NOT NULL CHECK (hour BETWEEN 0 AND 23),
    minutes BIGINT NOT NULL,
    PRIMARY KEY (user_id, hour)
);

-- Minutes of each category, from which the favourite one is found.
CREATE TABLE user_category (
    user_id BIGINT NOT NULL,
    category TEXT NOT NULL,
    minutes BIGINT NOT NULL,
    PRIMARY KEY (user_id, category)
);

-- Badges: given once, never taken back.
CREATE TABLE user_badges (
    user_id BIGINT NOT NULL,
    badge TEXT NOT NULL,
    earned_at TIMESTAMP NOT NULL,
    PRIMARY KEY (user_id, badge)
);

-- Leaderboards by UTC periods. Scope 0 counts everything, any other the sessions on that team's projects.
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
    -- when the points were reached: of equals, who got there first stands higher
    reached_at TIMESTAMP NOT NULL,
    PRIMARY KEY (scope, period, start, user_id)
);
CREATE INDEX board_user ON board (user_id);

-- The chat of a team project: what it is told of, and whether. Only the notifier uses its address.
CREATE TABLE chat_integrations (
    team_project_id BIGINT PRIMARY KEY REFERENCES team_projects (id),
    provider TEXT,
    -- counts up with each change
    revision BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'off')),
    reason TEXT,
    updated_at TIMESTAMP NOT NULL,
    -- the last test
    test_id TEXT,
    test_outcome TEXT CHECK (test_outcome IN ('pending', 'delivered', 'failed', 'skipped')),
    test_reason TEXT,
    test_at TIMESTAMP,
    -- with commas between: planned, finished, abandoned
    announce TEXT NOT NULL DEFAULT 'planned,finished',
    -- who made or last changed it, and what with, as in webhooks
    created_by BIGINT,
    client_id TEXT,
    session_id TEXT,
    -- the address, for a chat that is put into use again
    sealed TEXT
);
CREATE INDEX chat_integrations_by_maker ON chat_integrations (created_by);

-- What became of each notification, as the notifier tells it. Every one is looked for by its session.
CREATE TABLE notifications (
    event_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    team_project_id BIGINT,
    outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'failed', 'skipped')),
    reason TEXT,
    settled_at TIMESTAMP NOT NULL,
    PRIMARY KEY (session_id, event_id)
);

-- Webhooks of users, which hear of their sessions, and of teams, which hear of those on their projects.
CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- exactly one of the two
    user_id BIGINT,
    team_id BIGINT,
    -- an owner's webhooks are counted by these; null when it is deleted
    slot INTEGER CHECK (slot BETWEEN 1 AND 20),
    description TEXT NOT NULL,
    -- the address without its path, which may be a secret
    origin TEXT NOT NULL,
    -- the address and what signs the calls
    sealed TEXT,
    -- names with a space between them
    events TEXT NOT NULL,
    -- counts up with each change
    revision BIGINT NOT NULL,
    -- 'deleted' until what it left is deleted too
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'off', 'deleted')),
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    secret_changed_at TIMESTAMP NOT NULL,
    -- who made or last changed it, and what with: it is paused when that ends
    created_by BIGINT,
    -- the OAuth client, if it was one
    client_id TEXT,
    -- the sign-in that single sign-on handed over, if it was one
    session_id TEXT,
    CHECK ((user_id IS NULL) <> (team_id IS NULL)),
    CONSTRAINT webhooks_user_id_slot_key UNIQUE (user_id, slot),
    CONSTRAINT webhooks_team_id_slot_key UNIQUE (team_id, slot)
);
CREATE INDEX webhooks_by_maker ON webhooks (created_by);
CREATE INDEX webhooks_deleted ON webhooks (id) WHERE status = 'deleted';

-- The log of their calls, for 30 days. What is told is with the notifier.
CREATE TABLE webhook_deliveries (
    -- sorts by time
    delivery_id TEXT PRIMARY KEY,
    webhook_id BIGINT NOT NULL,
    -- whose doing the event tells of
    user_id BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    session_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'skipped')),
    -- the notifier's last word
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

-- Whom to tell by mail when a project's chat or a webhook is switched off.
CREATE TABLE hook_contacts (
    -- 'chat/' and the team project's id, or 'webhook/' and the webhook's
    hook TEXT PRIMARY KEY,
    -- who configured it
    user_id BIGINT NOT NULL,
    -- the team whose chat or webhook it is; null for a user's own webhook
    team_id BIGINT,
    -- the name and the address, which was proven then
    sealed TEXT NOT NULL
);
CREATE INDEX hook_contacts_user ON hook_contacts (user_id, team_id);

-- Events that wait for the broker, written in the transaction of the change they tell of.
CREATE TABLE outbox (
    id TEXT NOT NULL,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'unroutable')),
    -- One index serves what waits, by age, and what no queue wanted.
    PRIMARY KEY (state, id)
);

-- Events that are being published, as ranges of ids with both ends: holding rows and letting them go changes none.
CREATE TABLE outbox_leases (
    first_id TEXT PRIMARY KEY,
    last_id TEXT NOT NULL,
    -- What was taken at once, and is let go at once.
    batch_id TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);

-- Events that a consumer has taken in, so that a second delivery changes nothing.
CREATE TABLE inbox (
    consumer TEXT NOT NULL,
    event_id TEXT NOT NULL,
    received_at TIMESTAMP NOT NULL,
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX inbox_age ON inbox (received_at);
