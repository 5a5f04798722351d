-- The destinations of deliveries, and when each is due. A destination is leased as a whole: one attempt at a time,
-- regardless of the number of processes.
CREATE TABLE destinations (
    medium TEXT NOT NULL CHECK (medium IN ('chat', 'mail', 'webhook', 'logout')),
    -- A project, a webhook, a mail or a logout. The latter two need no order, so each is a destination of its own.
    id TEXT NOT NULL,
    -- Increases with each change; 0 until the first one is known.
    revision BIGINT NOT NULL,
    -- 'removed' stays for a while, so that no older event restores the destination.
    state TEXT NOT NULL CHECK (state IN ('unknown', 'active', 'disabled', 'removed')),
    -- The encrypted address and signing secrets.
    sealed TEXT,
    -- Consecutive failed attempts, and when the first of them ended.
    failures BIGINT NOT NULL,
    failing_since TIMESTAMP,
    -- No attempt before this time: pacing, or a wait that the receiver requested.
    free_at TIMESTAMP NOT NULL,
    -- When the destination is due, or the end of its lease; null when nothing is pending.
    due_at TIMESTAMP,
    lease_owner TEXT,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (medium, id)
);
CREATE INDEX destinations_due ON destinations (medium, due_at) WHERE due_at IS NOT NULL;

-- One event for one destination per row. Ids grow with time, so old rows are found by their ids.
CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    medium TEXT NOT NULL CHECK (medium IN ('chat', 'mail', 'webhook', 'logout')),
    -- A chat's 'plan', 'finished', 'abandoned' or 'test'; a mail's template; a webhook's 'call'; a logout's
    -- OAuth client. The end of a session
    -- is delivered after its plan.
    kind TEXT NOT NULL,
    destination_id TEXT NOT NULL,
    -- The destination's revision when the event happened; no older one is used.
    revision BIGINT NOT NULL,
    -- The session of a chat notification; for a test, the test's id.
    session_id TEXT,
    -- The user whose action a webhook's event reports.
    user_id BIGINT,
    request_id TEXT,
    -- An event's data, an encrypted mail or logout, or the exact body of a webhook call. Deleted when the row is settled, except
    -- for webhook calls, which can be replayed.
    payload TEXT,
    -- 'locked': a mail that is encrypted with a key that is not configured.
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'locked', 'delivered', 'failed', 'skipped')),
    -- Counts the reports on the delivery.
    step BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Attempts since the delivery was last requested.
    tries BIGINT NOT NULL,
    next_attempt_at TIMESTAMP NOT NULL,
    give_up_at TIMESTAMP NOT NULL,
    -- The message of the delivery, and maybe of others; each further attempt sends the same message. It is the id of
    -- the first delivery, in a digest followed by the number of deliveries.
    message_id TEXT,
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    settled_at TIMESTAMP
);
CREATE INDEX deliveries_session ON deliveries (session_id) WHERE session_id IS NOT NULL;
-- For webhooks only: their settled calls are deleted with the user or the webhook.
CREATE INDEX deliveries_user ON deliveries (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX deliveries_calls ON deliveries (destination_id) WHERE user_id IS NOT NULL;
-- Without the ids: few enough rows are due at the same moment to be sorted.
CREATE INDEX deliveries_open ON deliveries (medium, destination_id, next_attempt_at) WHERE settled_at IS NULL;
-- Finds expired rows without a scan of everything that is pending for a destination.
CREATE INDEX deliveries_expiring ON deliveries (medium, destination_id, give_up_at) WHERE settled_at IS NULL;

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
