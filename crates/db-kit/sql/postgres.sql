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
    -- Leases since it was last given back: the second one says that the first ran out.
    attempts BIGINT NOT NULL DEFAULT 0
);
-- By age alone: a lease then changes nothing that is indexed.
CREATE INDEX outbox_waiting ON outbox (id) WHERE state = 'pending';
-- So that looking for what no queue wanted costs nothing while there is none.
CREATE INDEX outbox_unroutable ON outbox (id) WHERE state = 'unroutable';

-- Events that a consumer has taken in, so that a second delivery changes nothing.
CREATE TABLE inbox (
    consumer TEXT NOT NULL,
    event_id TEXT NOT NULL,
    received_at TIMESTAMP NOT NULL,
    PRIMARY KEY (consumer, event_id)
);
CREATE INDEX inbox_age ON inbox (received_at);
