ALTER TABLE outbox RESET (fillfactor);
DROP INDEX outbox_waiting;
CREATE INDEX outbox_due ON outbox (available_at, id) WHERE state = 'pending';
