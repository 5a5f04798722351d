ALTER TABLE chat_integrations DROP COLUMN test_at;
ALTER TABLE chat_integrations DROP COLUMN test_reason;
ALTER TABLE chat_integrations DROP COLUMN test_outcome;
ALTER TABLE chat_integrations DROP COLUMN test_id;
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
