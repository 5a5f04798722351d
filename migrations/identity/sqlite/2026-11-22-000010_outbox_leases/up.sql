-- By age alone: a lease then changes nothing that is indexed.
DROP INDEX outbox_due;
CREATE INDEX outbox_waiting ON outbox (id) WHERE state = 'pending';
-- Counted since a row was last given back, from now on.
UPDATE outbox SET attempts = 0 WHERE lease_owner IS NULL;
