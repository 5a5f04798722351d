-- What a sign-in was opened for. A session of a kind other than first_party has tokens of its own kind, or
-- none: 'browser' is a cookie of the hosted pages, 'sso' was handed over to the site that `service` names,
-- 'client' was given to the OAuth client `client_id` with `scope` (space-separated). The client may be gone
-- from its table: the session keeps its id.
ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'first_party' CHECK (kind IN ('first_party', 'browser', 'sso', 'client'));
ALTER TABLE sessions ADD COLUMN service TEXT;
ALTER TABLE sessions ADD COLUMN client_id TEXT;
ALTER TABLE sessions ADD COLUMN scope TEXT;
-- When somebody showed who he is: a session that another one opened has that one's moment.
ALTER TABLE sessions ADD COLUMN authenticated_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00';
UPDATE sessions SET authenticated_at = created_at;
CREATE INDEX sessions_client_id ON sessions (client_id);

CREATE TABLE oauth_clients (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    -- SHA-256 of the secret, which is 256 random bits; none for a public client.
    secret_hash TEXT,
    -- A JSON array of texts.
    redirect_uris TEXT NOT NULL,
    -- What it may ask for, and gets when it asks for nothing.
    scope TEXT NOT NULL,
    is_first_party BOOLEAN NOT NULL,
    may_introspect_any BOOLEAN NOT NULL,
    id_token_alg TEXT NOT NULL CHECK (id_token_alg IN ('ES256', 'RS256')),
    -- Whether the configuration file says so, and not a command: such a client is changed only there.
    is_configured BOOLEAN NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

-- Authorization codes, by SHA-256. used_at and session_id tell what a replayed one gave.
CREATE TABLE oauth_codes (
    code_hash TEXT NOT NULL PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The sign-in that allowed it, which must still stand when the code is used.
    authorized_by TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    scope TEXT NOT NULL,
    nonce TEXT,
    challenge TEXT,
    challenge_method TEXT CHECK (challenge_method IN ('S256', 'plain')),
    auth_time TIMESTAMP NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    used_at TIMESTAMP,
    session_id TEXT
);
CREATE INDEX oauth_codes_client_id ON oauth_codes (client_id);
CREATE INDEX oauth_codes_user_id ON oauth_codes (user_id);
CREATE INDEX oauth_codes_expires_at ON oauth_codes (expires_at);

-- What an account has allowed a client.
CREATE TABLE oauth_consents (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (user_id, client_id)
);
CREATE INDEX oauth_consents_client_id ON oauth_consents (client_id);

-- Device authorizations (RFC 8628).
CREATE TABLE oauth_devices (
    device_code_hash TEXT NOT NULL PRIMARY KEY,
    -- Eight letters, without the dash they are shown with.
    user_code TEXT NOT NULL,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'used')),
    user_id BIGINT REFERENCES users (id) ON DELETE CASCADE,
    -- The sign-in that approved it, which must still stand when the code is used.
    authorized_by TEXT,
    auth_time TIMESTAMP,
    session_id TEXT,
    -- Seconds to wait between two polls; grows with each that came too soon.
    poll_seconds BIGINT NOT NULL,
    polled_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    CONSTRAINT oauth_devices_user_code_key UNIQUE (user_code)
);
CREATE INDEX oauth_devices_client_id ON oauth_devices (client_id);
CREATE INDEX oauth_devices_user_id ON oauth_devices (user_id);
CREATE INDEX oauth_devices_expires_at ON oauth_devices (expires_at);
