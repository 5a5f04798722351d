-- One row a sign-in. All refresh tokens of a sign-in share their first half, whose hash is
-- refresh_lineage, so that a token of any age finds its row; refresh_hash is the one that is good now.
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    revoked_at TIMESTAMP,
    refresh_lineage TEXT NOT NULL,
    refresh_hash TEXT NOT NULL,
    refresh_previous_hash TEXT,
    refresh_rotated_at TIMESTAMP NOT NULL,
    refresh_expires_at TIMESTAMP NOT NULL,
    CONSTRAINT sessions_refresh_lineage_key UNIQUE (refresh_lineage)
);
CREATE INDEX sessions_user_id ON sessions (user_id);

-- Keys that sign access tokens. Replicas that start at once agree on one by (algorithm, generation).
CREATE TABLE signing_keys (
    kid TEXT NOT NULL PRIMARY KEY,
    algorithm TEXT NOT NULL,
    generation BIGINT NOT NULL,
    private_key_sealed TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    retired_at TIMESTAMP,
    CONSTRAINT signing_keys_algorithm_generation_key UNIQUE (algorithm, generation)
);

-- What happened to accounts, for good: rows are only ever added, and outlive the account.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TIMESTAMP NOT NULL,
    action TEXT NOT NULL,
    user_id BIGINT,
    session_id TEXT,
    address TEXT
);
