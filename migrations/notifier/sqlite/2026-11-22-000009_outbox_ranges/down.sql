CREATE TABLE outbox_old (
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
INSERT INTO outbox_old (id, exchange, routing_key, body, created_at, state, available_at, lease_owner, attempts)
SELECT id, exchange, routing_key, body, created_at, state, coalesce(expires_at, created_at), batch_id, batch_id IS NOT NULL
FROM outbox LEFT JOIN outbox_leases ON state = 'pending' AND id BETWEEN first_id AND last_id;
DROP TABLE outbox;
ALTER TABLE outbox_old RENAME TO outbox;
CREATE INDEX outbox_unroutable ON outbox (id) WHERE state = 'unroutable';
CREATE INDEX outbox_waiting ON outbox (id) WHERE state = 'pending';
DROP TABLE outbox_leases;
