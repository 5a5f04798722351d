-- Personal projects.
CREATE TABLE projects (
    id BIGSERIAL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    archived_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX projects_by_user ON projects (user_id, id);

-- Projects of teams. The team itself lives in the identity area; its name is the last one told here.
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

-- Whether a team project's chat is told of starts. The address is not here: only the notifier keeps it.
CREATE TABLE chat_integrations (
    team_project_id BIGINT PRIMARY KEY REFERENCES team_projects (id),
    provider TEXT,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'off')),
    reason TEXT,
    updated_at TIMESTAMP NOT NULL
);

-- What became of each notification, as the notifier tells it.
CREATE TABLE notifications (
    event_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    team_project_id BIGINT,
    outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'failed', 'skipped')),
    reason TEXT,
    settled_at TIMESTAMP NOT NULL
);
CREATE INDEX notifications_by_session ON notifications (session_id);

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
    updated_at TIMESTAMP NOT NULL
);

-- Events that wait for the broker, written in the transaction of the change they tell of.
CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'unroutable')),
    available_at TIMESTAMP NOT NULL,
    lease_owner TEXT,
    attempts BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON outbox (available_at, id) WHERE state = 'pending';

-- Events that a consumer has taken in, so that a second delivery changes nothing.
CREATE TABLE inbox (
    consumer TEXT NOT NULL,
    event_id TEXT NOT NULL,
    received_at TIMESTAMP NOT NULL,
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX inbox_age ON inbox (received_at);
