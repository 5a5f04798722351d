ALTER TABLE oauth_clients ADD COLUMN requires_pkce_s256 BOOLEAN NOT NULL DEFAULT FALSE;
-- The challenge for which it last got a code.
ALTER TABLE oauth_clients ADD COLUMN pkce_seen TEXT CHECK (pkce_seen IN ('S256', 'plain', 'none'));
