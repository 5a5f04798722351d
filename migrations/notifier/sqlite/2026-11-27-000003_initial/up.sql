-- What deliveries go to, and when each is next to be looked at. A destination is leased as a whole: one attempt at a
-- time, whatever the number of processes.
CREATE TABLE destinations (
    medium TEXT NOT NULL CHECK (medium IN ('chat', 'mail', 'webhook')),
    -- A project, a webhook, or a mail: mails need no order, and each is a destination of its own.
    id TEXT NOT NULL,
    -- Counts up with each change; 0 until the first one is known.
    revision BIGINT NOT NULL,
    -- 'removed' stays for a while, so that no older event brings the destination back.
    state TEXT NOT NULL CHECK (state IN ('unknown', 'active', 'disabled', 'removed')),
    -- The address, and what signs for it, sealed.
    sealed TEXT,
    -- Attempts in a row that got no good answer, and when the first of them ended.
    failures BIGINT NOT NULL,
    failing_since TIMESTAMP,
    -- No attempt before: pacing, and what the other side asked for.
    free_at TIMESTAMP NOT NULL,
    -- When to look; the end of the lease while somebody has it; null when nothing waits.
    due_at TIMESTAMP,
    lease_owner TEXT,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (medium, id)
);
CREATE INDEX destinations_due ON destinations (medium, due_at) WHERE due_at IS NOT NULL;

-- One row for each thing to be told to one destination. Old ones are found by their ids, which grow with time.
CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    medium TEXT NOT NULL CHECK (medium IN ('chat', 'mail', 'webhook')),
    -- A chat's 'plan', 'finished', 'abandoned' or 'test'; a mail's template; a webhook's 'call'. How a session ended is
    -- told behind its plan.
    kind TEXT NOT NULL,
    destination_id TEXT NOT NULL,
    -- The destination's revision when the event happened: no older one is used.
    revision BIGINT NOT NULL,
    -- The session that a chat is told of; of a test its own id.
    session_id TEXT,
    -- Whose doing a webhook hears of.
    user_id BIGINT,
    request_id TEXT,
    -- What is told: an event's data, a sealed mail, the body of a call to the letter. Dropped when the row is settled,
    -- but for calls, which can be made again.
    payload TEXT,
    -- 'locked': a mail that is sealed with a key that is not configured.
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'locked', 'delivered', 'failed', 'skipped')),
    -- Reports of what became of it.
    step BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Attempts since it was last asked for.
    tries BIGINT NOT NULL,
    next_attempt_at TIMESTAMP NOT NULL,
    give_up_at TIMESTAMP NOT NULL,
    -- The message that told of it, and maybe of others: every further attempt is the same message. The id of its first
    -- delivery, and of a digest how many it has.
    message_id TEXT,
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    settled_at TIMESTAMP
);
CREATE INDEX deliveries_session ON deliveries (session_id) WHERE session_id IS NOT NULL;
-- Of webhooks alone, whose settled calls go with the user or the webhook.
CREATE INDEX deliveries_user ON deliveries (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX deliveries_calls ON deliveries (destination_id) WHERE user_id IS NOT NULL;
-- Without the ids: what is due at the same moment is little enough to be sorted.
CREATE INDEX deliveries_open ON deliveries (medium, destination_id, next_attempt_at) WHERE settled_at IS NULL;
-- What has run out is found without reading all that waits for a destination.
CREATE INDEX deliveries_expiring ON deliveries (medium, destination_id, give_up_at) WHERE settled_at IS NULL;

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
