DROP INDEX outbox_unroutable;
DROP INDEX deliveries_batch;
ALTER TABLE deliveries DROP COLUMN batch_id;
DROP INDEX deliveries_session;
DELETE FROM deliveries WHERE kind IN ('finished', 'abandoned');
ALTER TABLE deliveries DROP CONSTRAINT deliveries_kind_check;
ALTER TABLE deliveries ADD CONSTRAINT deliveries_kind_check CHECK (kind IN ('plan', 'test'));
