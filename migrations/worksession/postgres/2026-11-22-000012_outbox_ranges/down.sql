ALTER TABLE outbox ADD COLUMN available_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00';
ALTER TABLE outbox ALTER COLUMN available_at DROP DEFAULT;
ALTER TABLE outbox ADD COLUMN lease_owner TEXT;
ALTER TABLE outbox ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox SET (fillfactor = 45);
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey;
ALTER TABLE outbox ADD PRIMARY KEY (id);
CREATE INDEX outbox_unroutable ON outbox (id) WHERE state = 'unroutable';
CREATE INDEX outbox_waiting ON outbox (id) WHERE state = 'pending';
UPDATE outbox SET available_at = expires_at, lease_owner = batch_id, attempts = 1
FROM outbox_leases WHERE outbox.state = 'pending' AND outbox.id BETWEEN first_id AND last_id;
DROP TABLE outbox_leases;
