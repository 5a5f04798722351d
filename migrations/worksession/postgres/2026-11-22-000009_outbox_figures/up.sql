-- So that looking for what no queue wanted costs nothing while there is none.
CREATE INDEX outbox_unroutable ON outbox (id) WHERE state = 'unroutable';
