ALTER TABLE oauth_clients DROP COLUMN pkce_seen;
ALTER TABLE oauth_clients DROP COLUMN requires_pkce_s256;
