-- By age alone: a lease then changes nothing that is indexed.
DROP INDEX outbox_due;
CREATE INDEX outbox_waiting ON outbox (id) WHERE state = 'pending';
-- Room on each page for the versions that its leases make, so that these cost no entry in any index.
ALTER TABLE outbox SET (fillfactor = 45);
-- Counted since a row was last given back, from now on.
UPDATE outbox SET attempts = 0 WHERE lease_owner IS NULL;
