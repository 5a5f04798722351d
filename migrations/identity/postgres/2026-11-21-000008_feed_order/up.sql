-- Which transaction wrote a change: readers go by the transactions that had ended when they last read, so
-- that one that commits late, behind others, is seen whatever a clock says.
ALTER TABLE changes ADD COLUMN transaction_id BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint);
CREATE INDEX changes_transaction_id ON changes (transaction_id);
