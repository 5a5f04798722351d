DROP INDEX outbox_unroutable;
