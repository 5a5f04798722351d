-- Events that are being published, as ranges of ids with both ends: holding rows and letting them go changes none.
CREATE TABLE outbox_leases (
    first_id TEXT PRIMARY KEY,
    last_id TEXT NOT NULL,
    -- What was taken at once, and is let go at once.
    batch_id TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
-- What was held goes on being held.
INSERT INTO outbox_leases (first_id, last_id, batch_id, expires_at)
SELECT min(id), max(id), 'before', max(available_at) FROM outbox
WHERE state = 'pending' AND lease_owner IS NOT NULL HAVING count(*) > 0;

-- One index serves what waits, by age, and what no queue wanted.
CREATE TABLE outbox_new (
    id TEXT NOT NULL,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'unroutable')),
    PRIMARY KEY (state, id)
);
INSERT INTO outbox_new (id, exchange, routing_key, body, created_at, state)
SELECT id, exchange, routing_key, body, created_at, state FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_new RENAME TO outbox;
