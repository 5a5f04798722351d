DROP TABLE inbox;
DROP TABLE outbox_leases;
DROP TABLE outbox;
DROP TABLE webhook_calls;
DROP TABLE webhooks;
DROP TABLE mails;
DROP TABLE deliveries;
DROP TABLE destinations;
