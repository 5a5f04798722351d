-- Where each team project's notifications go, and when its hook is next to be looked at. A hook is the unit that a
-- scheduler holds: one send at a time, whatever the number of processes.
CREATE TABLE destinations (
    project_id BIGINT PRIMARY KEY,
    -- Counts up with each change; 0 until the first one is known.
    revision BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('unknown', 'active', 'removed', 'disabled')),
    -- The address, sealed.
    sealed TEXT,
    reason TEXT,
    -- Sends in a row that got no good answer.
    failures BIGINT NOT NULL,
    -- No send before: pacing, and what the other side asked for.
    free_at TIMESTAMP NOT NULL,
    -- When to look; the end of the lease while somebody holds it; null when nothing waits.
    due_at TIMESTAMP,
    lease_owner TEXT,
    updated_at TIMESTAMP NOT NULL,
    -- The message that the hook's holder is sending: its id and those of what it tells of, with spaces between. Its
    -- deliveries are written only when it is over; what a holder that died was sending is read from here.
    sending TEXT
);
CREATE INDEX destinations_due ON destinations (due_at) WHERE due_at IS NOT NULL;

-- One row for each event that a chat is to be told of. Old ones are found by their ids, which grow with time.
CREATE TABLE deliveries (
    event_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    project_id BIGINT NOT NULL,
    -- The destination's revision when the event happened: no older one is used.
    revision BIGINT NOT NULL,
    request_id TEXT,
    -- The event's data; dropped when the row is settled.
    payload TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'delivered', 'failed', 'skipped')),
    attempts BIGINT NOT NULL,
    next_attempt_at TIMESTAMP NOT NULL,
    give_up_at TIMESTAMP NOT NULL,
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    settled_at TIMESTAMP,
    -- 'finished' and 'abandoned' tell how a session that was told of ended, and wait for its 'plan'. 'test' asks
    -- whether the chat is connected; its session is itself.
    kind TEXT NOT NULL DEFAULT 'plan' CHECK (kind IN ('plan', 'finished', 'abandoned', 'test')),
    -- The message that tells of it and maybe of others, once it has to be sent again: every further try is the same
    -- message. The id of its first event, and of a digest how many it has.
    batch_id TEXT
);
CREATE INDEX deliveries_session ON deliveries (session_id);
-- So that a plan finds the end that came before it, and that there is none costs nothing.
CREATE INDEX deliveries_ends ON deliveries (session_id) WHERE kind IN ('finished', 'abandoned') AND settled_at IS NULL;
-- Without the ids: what is due at the same moment is little enough to be sorted.
CREATE INDEX deliveries_open ON deliveries (project_id, next_attempt_at) WHERE settled_at IS NULL;
-- What has run out is found without reading all that waits for a hook.
CREATE INDEX deliveries_expiring ON deliveries (project_id, give_up_at) WHERE settled_at IS NULL;
CREATE INDEX deliveries_batch ON deliveries (batch_id) WHERE batch_id IS NOT NULL AND settled_at IS NULL;

-- One row for each mail that was asked for. Whom it goes to and what it says stays sealed.
CREATE TABLE mails (
    event_id TEXT PRIMARY KEY,
    template TEXT NOT NULL,
    -- Dropped when the row is settled.
    sealed TEXT,
    request_id TEXT,
    -- 'locked': sealed with a key that is not configured.
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'locked', 'delivered', 'failed')),
    attempts BIGINT NOT NULL,
    -- When it is to be tried; the end of the lease while somebody holds it.
    due_at TIMESTAMP NOT NULL,
    lease_owner TEXT,
    give_up_at TIMESTAMP NOT NULL,
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    settled_at TIMESTAMP
);
CREATE INDEX mails_due ON mails (due_at, event_id) WHERE settled_at IS NULL;
CREATE INDEX mails_settled ON mails (settled_at) WHERE settled_at IS NOT NULL;

-- Where each webhook's calls go, and when it is next to be looked at. A webhook is the unit that a scheduler holds:
-- one call at a time, whatever the number of processes.
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
CREATE INDEX webhook_calls_of ON webhook_calls (webhook_id);
CREATE INDEX webhook_calls_by_user ON webhook_calls (user_id);
CREATE INDEX webhook_calls_open ON webhook_calls (webhook_id, next_attempt_at, delivery_id) WHERE settled_at IS NULL;
CREATE INDEX webhook_calls_expiring ON webhook_calls (webhook_id, give_up_at, delivery_id) WHERE settled_at IS NULL;
CREATE INDEX webhook_calls_settled ON webhook_calls (settled_at) WHERE settled_at IS NOT NULL;

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
