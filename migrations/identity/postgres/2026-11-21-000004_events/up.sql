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
