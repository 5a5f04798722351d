-- Which photo an account has: a prefix of its content's hash, so that a list of accounts needs no photos.
ALTER TABLE users ADD COLUMN photo_version TEXT;

CREATE TABLE profile_photos (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    content_type TEXT NOT NULL,
    bytes BLOB NOT NULL
);

-- Links in mails: each good once, for one purpose and one address. Only hashes are kept.
CREATE TABLE mail_tokens (
    token_hash TEXT NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('verify_email', 'reset_password')),
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
CREATE INDEX mail_tokens_user_id ON mail_tokens (user_id, purpose);
CREATE INDEX mail_tokens_expires_at ON mail_tokens (expires_at);

-- Second factors. A factor counts once its owner has shown a code of it; last_step is the time step of
-- the newest code that was accepted, so that none is accepted twice.
CREATE TABLE totp_factors (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret_sealed TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    confirmed_at TIMESTAMP,
    last_step BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE recovery_codes (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    code_hash TEXT NOT NULL,
    CONSTRAINT recovery_codes_user_id_code_hash_key PRIMARY KEY (user_id, code_hash)
);
