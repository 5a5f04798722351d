DROP INDEX deliveries_ends;
DROP INDEX webhook_calls_expiring;
DROP INDEX deliveries_expiring;
