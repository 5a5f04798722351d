DROP INDEX deliveries_expiring;
CREATE INDEX deliveries_expiring ON deliveries (project_id, give_up_at, event_id) WHERE settled_at IS NULL;
DROP INDEX deliveries_open;
CREATE INDEX deliveries_open ON deliveries (project_id, next_attempt_at, event_id) WHERE settled_at IS NULL;
DROP INDEX deliveries_batch;
CREATE INDEX deliveries_batch ON deliveries (batch_id) WHERE settled_at IS NULL;
ALTER TABLE destinations DROP COLUMN sending;
