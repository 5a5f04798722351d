ALTER TABLE chat_integrations DROP COLUMN announce;
