-- Who made or last changed a webhook or a chat, and what with: it is paused when that ends.
CREATE TABLE webhooks_new (
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
    created_by BIGINT,
    -- the OAuth client, if it was one
    client_id TEXT,
    -- the sign-in that single sign-on handed over, if it was one
    session_id TEXT,
    CHECK ((user_id IS NULL) <> (team_id IS NULL)),
    CONSTRAINT webhooks_user_id_slot_key UNIQUE (user_id, slot),
    CONSTRAINT webhooks_team_id_slot_key UNIQUE (team_id, slot)
);
INSERT INTO webhooks_new (id, user_id, team_id, slot, description, origin, sealed, events, revision, status, reason, created_at, updated_at,
    secret_changed_at, created_by)
SELECT id, user_id, team_id, slot, description, origin, sealed, events, revision, status, reason, created_at, updated_at,
    secret_changed_at, user_id FROM webhooks;
-- No id is given out twice.
DELETE FROM sqlite_sequence WHERE name = 'webhooks_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'webhooks_new', seq FROM sqlite_sequence WHERE name = 'webhooks';
DROP TABLE webhooks;
ALTER TABLE webhooks_new RENAME TO webhooks;
CREATE INDEX webhooks_deleted ON webhooks (id) WHERE status = 'deleted';
CREATE INDEX webhooks_by_maker ON webhooks (created_by);

CREATE TABLE chat_integrations_new (
    team_project_id BIGINT PRIMARY KEY REFERENCES team_projects (id),
    provider TEXT,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'off')),
    reason TEXT,
    updated_at TIMESTAMP NOT NULL,
    test_id TEXT,
    test_outcome TEXT CHECK (test_outcome IN ('pending', 'delivered', 'failed', 'skipped')),
    test_reason TEXT,
    test_at TIMESTAMP,
    announce TEXT NOT NULL DEFAULT 'planned,finished',
    created_by BIGINT,
    client_id TEXT,
    session_id TEXT,
    -- the address, for a chat that is put into use again
    sealed TEXT
);
INSERT INTO chat_integrations_new (team_project_id, provider, revision, status, reason, updated_at, test_id, test_outcome, test_reason, test_at, announce)
SELECT team_project_id, provider, revision, status, reason, updated_at, test_id, test_outcome, test_reason, test_at, announce FROM chat_integrations;
DROP TABLE chat_integrations;
ALTER TABLE chat_integrations_new RENAME TO chat_integrations;
CREATE INDEX chat_integrations_by_maker ON chat_integrations (created_by);
