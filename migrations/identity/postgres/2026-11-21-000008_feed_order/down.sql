DROP INDEX changes_transaction_id;
ALTER TABLE changes DROP COLUMN transaction_id;
