-- Who made or last changed a webhook or a chat, and what with: it is paused when that ends.
ALTER TABLE webhooks DROP CONSTRAINT webhooks_status_check;
ALTER TABLE webhooks ADD CONSTRAINT webhooks_status_check CHECK (status IN ('active', 'paused', 'off', 'deleted'));
ALTER TABLE webhooks ADD COLUMN created_by BIGINT;
-- the OAuth client, if it was one
ALTER TABLE webhooks ADD COLUMN client_id TEXT;
-- the sign-in that single sign-on handed over, if it was one
ALTER TABLE webhooks ADD COLUMN session_id TEXT;
UPDATE webhooks SET created_by = user_id;
CREATE INDEX webhooks_by_maker ON webhooks (created_by);

ALTER TABLE chat_integrations DROP CONSTRAINT chat_integrations_status_check;
ALTER TABLE chat_integrations ADD CONSTRAINT chat_integrations_status_check CHECK (status IN ('active', 'paused', 'off'));
ALTER TABLE chat_integrations ADD COLUMN created_by BIGINT;
ALTER TABLE chat_integrations ADD COLUMN client_id TEXT;
ALTER TABLE chat_integrations ADD COLUMN session_id TEXT;
-- the address, for a chat that is put into use again
ALTER TABLE chat_integrations ADD COLUMN sealed TEXT;
CREATE INDEX chat_integrations_by_maker ON chat_integrations (created_by);
