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

-- Where each team project's notifications go, and when its hook is next to be looked at. A hook is the
-- unit that a scheduler holds: one send at a time, whatever the number of processes.
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
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX destinations_due ON destinations (due_at) WHERE due_at IS NOT NULL;

-- One row for each event that a chat is to be told of.
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
    settled_at TIMESTAMP
);
CREATE INDEX deliveries_open ON deliveries (project_id, next_attempt_at, event_id) WHERE settled_at IS NULL;
CREATE INDEX deliveries_settled ON deliveries (settled_at) WHERE settled_at IS NOT NULL;
