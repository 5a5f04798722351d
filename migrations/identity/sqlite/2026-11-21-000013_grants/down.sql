DROP TABLE oauth_devices;
DROP TABLE oauth_consents;
DROP TABLE oauth_codes;
DROP TABLE oauth_clients;
DROP INDEX sessions_client_id;
ALTER TABLE sessions DROP COLUMN scope;
ALTER TABLE sessions DROP COLUMN client_id;
ALTER TABLE sessions DROP COLUMN service;
ALTER TABLE sessions DROP COLUMN kind;
