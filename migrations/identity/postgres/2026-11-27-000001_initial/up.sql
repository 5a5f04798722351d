-- Accounts. Ids are never given out twice, not even after the newest account is gone.
CREATE TABLE users (
    id BIGSERIAL PRIMARY KEY,
    username TEXT NOT NULL,
    username_lower TEXT NOT NULL,
    email TEXT NOT NULL,
    email_verified BOOLEAN NOT NULL DEFAULT FALSE,
    password_hash TEXT NOT NULL,
    bio TEXT,
    website_url TEXT,
    is_active BOOLEAN NOT NULL DEFAULT TRUE,
    role TEXT NOT NULL DEFAULT 'USER' CHECK (role IN ('USER', 'SUPERADMIN')),
    premium_tier TEXT NOT NULL DEFAULT 'FREE' CHECK (premium_tier IN ('FREE', 'PREMIUM')),
    premium_expires_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    -- A prefix of the hash of the photo's content, so that a list of accounts needs no photos.
    photo_version TEXT,
    CONSTRAINT users_username_lower_key UNIQUE (username_lower)
);
-- Whoever proves an address takes it from all who show it, whatever became of their claims to it.
CREATE INDEX users_email_lower ON users (lower(email));

-- Photos, apart from the accounts, which are read far more often.
CREATE TABLE profile_photos (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    content_type TEXT NOT NULL,
    bytes BYTEA NOT NULL
);

-- Who holds an e-mail address: for good once verified (expires_at is null), for a day after an unverified
-- registration. The address in users says nothing about that: a lapsed claim can be taken over while its
-- old holder still shows the address.
CREATE TABLE email_claims (
    email_lower TEXT NOT NULL,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at TIMESTAMP,
    -- Whether the account's password was shown, or chosen, by whoever gave the address. No link to a new password
    -- goes to any other address: a stolen access token must not win the account.
    confirmed BOOLEAN NOT NULL DEFAULT FALSE,
    CONSTRAINT email_claims_email_lower_key PRIMARY KEY (email_lower)
);
CREATE INDEX email_claims_user_id ON email_claims (user_id);

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

-- Second factors. One counts once its owner has shown a code of it.
CREATE TABLE totp_factors (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret_sealed TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    confirmed_at TIMESTAMP,
    -- The time step of the newest code that was accepted, so that none is accepted twice.
    last_step BIGINT NOT NULL DEFAULT 0,
    -- Wrong codes in a row, and when the next one is looked at, in milliseconds since the epoch: the wait grows by
    -- arithmetic that both databases do alike.
    failed_codes BIGINT NOT NULL DEFAULT 0,
    next_code_at_ms BIGINT NOT NULL DEFAULT 0
);

-- What opens an account whose second factor is lost, each code once. Only hashes are kept.
CREATE TABLE recovery_codes (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    code_hash TEXT NOT NULL,
    CONSTRAINT recovery_codes_user_id_code_hash_key PRIMARY KEY (user_id, code_hash)
);

-- One row a sign-in. All refresh tokens of a sign-in share their first half, whose hash is refresh_lineage, so
-- that a token of any age finds its row; refresh_hash is the one that is good now.
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
    -- Where it was made, for its owner's list.
    address TEXT,
    user_agent TEXT,
    -- What it was opened for: 'browser' is a cookie of the hosted pages, 'sso' was handed over to the site that
    -- `service` names, 'client' was given to the OAuth client `client_id` with `scope` (space-separated). The client
    -- may be gone from its table: the session keeps its id.
    kind TEXT NOT NULL DEFAULT 'first_party' CHECK (kind IN ('first_party', 'browser', 'sso', 'client')),
    service TEXT,
    client_id TEXT,
    scope TEXT,
    -- When somebody showed who they are: a session that another one opened has that one's moment.
    authenticated_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00',
    -- Whether another session vouched for this one and no password was shown. Such sessions are capped apart from
    -- the sign-ins of the account itself.
    is_derived BOOLEAN NOT NULL DEFAULT FALSE,
    -- The origin of the site that an 'sso' session was handed over to.
    sso_origin TEXT,
    -- The handed-over session that opened this one, or that the opener descends from: this one ends with it. The
    -- parent is kept for as long as one that ends with it.
    parent_sid TEXT,
    CONSTRAINT sessions_refresh_lineage_key UNIQUE (refresh_lineage)
);
CREATE INDEX sessions_user_id ON sessions (user_id);
CREATE INDEX sessions_client_id ON sessions (client_id);
CREATE INDEX sessions_expires_at ON sessions (expires_at);
CREATE INDEX sessions_parent_sid ON sessions (parent_sid) WHERE parent_sid IS NOT NULL;

-- Keys that sign tokens. Replicas that start at once agree on one by (algorithm, generation).
CREATE TABLE signing_keys (
    kid TEXT NOT NULL PRIMARY KEY,
    algorithm TEXT NOT NULL,
    generation BIGINT NOT NULL,
    private_key_sealed TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    retired_at TIMESTAMP,
    -- The longest life of any token that was signed with the key: it verifies that long after it retired.
    longest_ttl_seconds BIGINT NOT NULL DEFAULT 2592000,
    -- From when it signs: it is published before that.
    signs_from TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00',
    CONSTRAINT signing_keys_algorithm_generation_key UNIQUE (algorithm, generation)
);

-- Teams. The owner stands here and nowhere else: a team has exactly one.
CREATE TABLE teams (
    id BIGSERIAL PRIMARY KEY,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    slug_lower TEXT NOT NULL,
    description TEXT,
    owner_id BIGINT NOT NULL REFERENCES users (id),
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    CONSTRAINT teams_slug_lower_key UNIQUE (slug_lower)
);
CREATE INDEX teams_owner_id ON teams (owner_id);

-- Who is in a team. The owner has a row too; its role is the one that remains after handing the team over.
CREATE TABLE team_members (
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member')),
    joined_at TIMESTAMP NOT NULL,
    CONSTRAINT team_members_team_id_user_id_key PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_members_user_id ON team_members (user_id);

-- Who left a team by themselves: they come back by an invitation only.
CREATE TABLE team_departures (
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    left_at TIMESTAMP NOT NULL,
    CONSTRAINT team_departures_team_id_user_id_key PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_departures_user_id ON team_departures (user_id);

-- Who is asked into which team. A pending one whose time is over is expired; the token of the newest mail is kept
-- as a hash.
CREATE TABLE invitations (
    id TEXT NOT NULL PRIMARY KEY,
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_lower TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member')),
    status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'declined', 'revoked')),
    token_hash TEXT NOT NULL,
    invited_by BIGINT REFERENCES users (id) ON DELETE SET NULL,
    accepted_by BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    settled_at TIMESTAMP,
    CONSTRAINT invitations_token_hash_key UNIQUE (token_hash)
);
CREATE UNIQUE INDEX invitations_team_id_email_lower_key ON invitations (team_id, email_lower) WHERE status = 'pending';
CREATE INDEX invitations_email_lower ON invitations (email_lower);
CREATE INDEX invitations_invited_by ON invitations (invited_by);
CREATE INDEX invitations_accepted_by ON invitations (accepted_by);

-- OAuth clients: the programs that may ask for access to accounts.
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
    updated_at TIMESTAMP NOT NULL,
    -- What it may come to the token endpoint with (space-separated).
    grant_types TEXT NOT NULL
        DEFAULT 'authorization_code refresh_token urn:ietf:params:oauth:grant-type:device_code',
    requires_pkce_s256 BOOLEAN NOT NULL DEFAULT FALSE,
    -- The challenge for which it last got a code.
    pkce_seen TEXT CHECK (pkce_seen IN ('S256', 'plain', 'none'))
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

-- What an account has allowed a client, so that it is not asked again.
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

-- What happened to accounts, for good: rows are only ever added, and outlive the account.
CREATE TABLE audit_log (
    id BIGSERIAL PRIMARY KEY,
    at TIMESTAMP NOT NULL,
    action TEXT NOT NULL,
    user_id BIGINT,
    session_id TEXT,
    address TEXT,
    -- Who did it; null for somebody who is not signed in, and for the command line.
    actor_id BIGINT,
    -- By which way.
    via TEXT NOT NULL DEFAULT 'http',
    -- What exactly: JSON.
    details TEXT
);
CREATE INDEX audit_log_user_id ON audit_log (user_id, id);
CREATE INDEX audit_log_actor_id ON audit_log (actor_id, id);
-- The log grows for good: what happened since a moment, and all of one action, are found without reading it.
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_action ON audit_log (action, id);
CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END
$$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();

-- What every process that remembers sessions, accounts, teams, keys or clients must forget. Swept once nobody reads
-- it any more.
CREATE TABLE changes (
    id BIGSERIAL PRIMARY KEY,
    at TIMESTAMP NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC'),
    kind TEXT NOT NULL CHECK (kind IN ('session', 'user', 'teams', 'keys', 'client')),
    subject TEXT NOT NULL,
    -- Readers go by the transactions that had ended when they last read, so that one that commits late, behind others,
    -- is seen whatever a clock says.
    transaction_id BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint)
);
CREATE INDEX changes_at ON changes (at);
CREATE INDEX changes_transaction_id ON changes (transaction_id);

-- Events that wait for the broker, written in the transaction of the change they tell of.
CREATE TABLE outbox (
    id TEXT NOT NULL,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'unroutable')),
    -- One index serves what waits, by age, and what no queue wanted.
    PRIMARY KEY (state, id)
);

-- Events that are being published, as ranges of ids with both ends: holding rows and letting them go changes none.
CREATE TABLE outbox_leases (
    first_id TEXT PRIMARY KEY,
    last_id TEXT NOT NULL,
    -- What was taken at once, and is let go at once.
    batch_id TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
