DROP INDEX outbox_unroutable;
DROP INDEX deliveries_batch;
ALTER TABLE deliveries DROP COLUMN batch_id;
DROP INDEX deliveries_session;
DELETE FROM deliveries WHERE kind IN ('finished', 'abandoned');
ALTER TABLE deliveries ADD COLUMN what TEXT NOT NULL DEFAULT 'plan' CHECK (what IN ('plan', 'test'));
UPDATE deliveries SET what = kind;
ALTER TABLE deliveries DROP COLUMN kind;
ALTER TABLE deliveries RENAME COLUMN what TO kind;
