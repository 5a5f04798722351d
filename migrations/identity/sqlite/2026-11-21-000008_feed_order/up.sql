-- Of use on PostgreSQL only. Here one transaction writes at a time: ids are in the order of commits.
ALTER TABLE changes ADD COLUMN transaction_id BIGINT NOT NULL DEFAULT 0;
CREATE INDEX changes_transaction_id ON changes (transaction_id);
