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
DROP INDEX outbox_waiting;
DROP INDEX outbox_unroutable;
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey;
ALTER TABLE outbox ADD PRIMARY KEY (state, id);
ALTER TABLE outbox RESET (fillfactor);
ALTER TABLE outbox DROP COLUMN available_at;
ALTER TABLE outbox DROP COLUMN lease_owner;
ALTER TABLE outbox DROP COLUMN attempts;
