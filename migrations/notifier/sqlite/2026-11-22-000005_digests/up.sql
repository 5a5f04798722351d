-- 'finished' and 'abandoned' tell how a session that was told of ended, and wait for its 'plan'.
ALTER TABLE deliveries ADD COLUMN what TEXT NOT NULL DEFAULT 'plan' CHECK (what IN ('plan', 'finished', 'abandoned', 'test'));
UPDATE deliveries SET what = kind;
ALTER TABLE deliveries DROP COLUMN kind;
ALTER TABLE deliveries RENAME COLUMN what TO kind;
CREATE INDEX deliveries_session ON deliveries (session_id);

-- A message to a chat tells of one or more notifications. Its composition is written down before it is sent, so
-- that every further try is the same message: the id of its first event, and of a digest how many it has.
ALTER TABLE deliveries ADD COLUMN batch_id TEXT;
CREATE INDEX deliveries_batch ON deliveries (batch_id) WHERE settled_at IS NULL;

-- So that looking for what no queue wanted costs nothing while there is none.
CREATE INDEX outbox_unroutable ON outbox (id) WHERE state = 'unroutable';
