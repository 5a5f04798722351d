-- Where each webhook's calls go, and when it is next to be looked at. A webhook is the unit that a scheduler
-- holds: one call at a time, whatever the number of processes.
CREATE TABLE webhooks (
    webhook_id BIGINT PRIMARY KEY,
    -- Counts up with each change; 0 until the first one is known.
    revision BIGINT NOT NULL,
    -- 'removed' stays for a while, so that no older word brings the webhook back.
    state TEXT NOT NULL CHECK (state IN ('unknown', 'active', 'off', 'removed')),
    -- The address and what signs, sealed.
    sealed TEXT,
    -- Calls in a row that got no good answer, and when the first of them was made.
    failures BIGINT NOT NULL,
    failing_since TIMESTAMP,
    -- No call before: what the other side asked for.
    free_at TIMESTAMP NOT NULL,
    -- When to look; the end of the lease while somebody holds it; null when nothing waits.
    due_at TIMESTAMP,
    lease_owner TEXT,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhooks_removed ON webhooks (updated_at) WHERE state = 'removed';

-- One row for each call. It stays for 30 days after it was settled, so that it can be made again.
CREATE TABLE webhook_calls (
    delivery_id TEXT PRIMARY KEY,
    webhook_id BIGINT NOT NULL,
    -- The webhook's revision when the event happened: no older one is used.
    revision BIGINT NOT NULL,
    -- Whose doing it tells of.
    user_id BIGINT NOT NULL,
    request_id TEXT,
    -- What is signed and sent, to the letter.
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'delivered', 'failed', 'skipped')),
    -- Words told about it.
    step BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Attempts since it was last asked for.
    tries BIGINT NOT NULL,
    next_attempt_at TIMESTAMP NOT NULL,
    give_up_at TIMESTAMP NOT NULL,
    reason TEXT,
    settled_at TIMESTAMP
);
CREATE INDEX webhook_calls_open ON webhook_calls (webhook_id, next_attempt_at, delivery_id) WHERE settled_at IS NULL;
CREATE INDEX webhook_calls_settled ON webhook_calls (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX webhook_calls_of ON webhook_calls (webhook_id);
CREATE INDEX webhook_calls_by_user ON webhook_calls (user_id);

-- 'test' asks whether the chat is connected; its session is itself.
ALTER TABLE deliveries ADD COLUMN kind TEXT NOT NULL DEFAULT 'plan' CHECK (kind IN ('plan', 'test'));
