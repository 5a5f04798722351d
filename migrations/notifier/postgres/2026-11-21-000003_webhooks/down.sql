ALTER TABLE deliveries DROP COLUMN kind;
DROP TABLE webhook_calls;
DROP TABLE webhooks;
