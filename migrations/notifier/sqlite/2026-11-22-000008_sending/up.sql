-- The message that a hook's holder is sending: its id and those of what it tells of, with spaces between. Its deliveries
-- are written only when it is over; what a holder that died was sending is read from here.
ALTER TABLE destinations ADD COLUMN sending TEXT;
UPDATE deliveries SET state = 'pending' WHERE state = 'sending';

-- Of what is told at the first try no message is written down.
DROP INDEX deliveries_batch;
CREATE INDEX deliveries_batch ON deliveries (batch_id) WHERE batch_id IS NOT NULL AND settled_at IS NULL;

-- Without the ids: what is due at the same moment is little enough to be sorted.
DROP INDEX deliveries_open;
CREATE INDEX deliveries_open ON deliveries (project_id, next_attempt_at) WHERE settled_at IS NULL;
DROP INDEX deliveries_expiring;
CREATE INDEX deliveries_expiring ON deliveries (project_id, give_up_at) WHERE settled_at IS NULL;
