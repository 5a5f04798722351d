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
    status TEXT NOT NULL CHECK (status IN ('active', 'off', 'deleted')),
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    secret_changed_at TIMESTAMP NOT NULL,
    CHECK ((user_id IS NULL) <> (team_id IS NULL)),
    CONSTRAINT webhooks_user_id_slot_key UNIQUE (user_id, slot),
    CONSTRAINT webhooks_team_id_slot_key UNIQUE (team_id, slot)
);
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

-- The last test of a project's chat.
ALTER TABLE chat_integrations ADD COLUMN test_id TEXT;
ALTER TABLE chat_integrations ADD COLUMN test_outcome TEXT CHECK (test_outcome IN ('pending', 'delivered', 'failed', 'skipped'));
ALTER TABLE chat_integrations ADD COLUMN test_reason TEXT;
ALTER TABLE chat_integrations ADD COLUMN test_at TIMESTAMP;
