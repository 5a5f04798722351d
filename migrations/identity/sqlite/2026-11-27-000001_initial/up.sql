-- Accounts. Ids are never reused, not even that of the newest account after its deletion.
CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
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
    -- A prefix of the hash of the photo's content, so that lists of accounts need not read photos.
    photo_version TEXT,
    display_name TEXT,
    -- A language tag (BCP 47) and a time zone of the IANA database.
    locale TEXT,
    zoneinfo TEXT,
    CONSTRAINT users_username_lower_key UNIQUE (username_lower)
);
-- Verifying an address takes it from every account that has it, whatever the state of their claims.
CREATE INDEX users_email_lower ON users (lower(email));

-- Photos are stored apart from the accounts, which are read far more often.
CREATE TABLE profile_photos (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    content_type TEXT NOT NULL,
    bytes BLOB NOT NULL
);

-- Claims to e-mail addresses: permanent once verified (expires_at is null), for a day after an unverified
-- registration. The address in users says nothing about that. An expired claim can be taken over while users still
-- has the old owner's address.
CREATE TABLE email_claims (
    email_lower TEXT NOT NULL,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at TIMESTAMP,
    -- Whether the account's password was presented, or chosen, with the address. No reset link goes to any other
    -- address: a stolen access token must not take over the account.
    confirmed BOOLEAN NOT NULL DEFAULT FALSE,
    CONSTRAINT email_claims_email_lower_key PRIMARY KEY (email_lower)
);
CREATE INDEX email_claims_user_id ON email_claims (user_id);

-- Mail links: each works once, for one purpose and one address. Only hashes are stored.
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

-- Second factors. One is in force once its owner has confirmed it with a code.
CREATE TABLE totp_factors (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret_sealed TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    confirmed_at TIMESTAMP,
    -- The time step of the newest accepted code, so that no code is accepted twice.
    last_step BIGINT NOT NULL DEFAULT 0,
    -- Consecutive wrong codes, and the time of the next attempt in milliseconds since the epoch. The wait grows by
    -- arithmetic that is the same in both databases.
    failed_codes BIGINT NOT NULL DEFAULT 0,
    next_code_at_ms BIGINT NOT NULL DEFAULT 0
);

-- Recovery codes for a lost second factor; each works once. Only hashes are stored.
CREATE TABLE recovery_codes (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    code_hash TEXT NOT NULL,
    CONSTRAINT recovery_codes_user_id_code_hash_key PRIMARY KEY (user_id, code_hash)
);

-- One row per session. All refresh tokens of a session share their first half, whose hash is refresh_lineage: a token
-- of any age finds its row. refresh_hash is the hash of the current token.
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
    -- The origin of the sign-in, for the owner's list of sessions.
    address TEXT,
    user_agent TEXT,
    -- The session grant. 'browser' is a cookie of the hosted pages, and 'sso' was handed over to the site in
    -- `service`. 'client' belongs to the OAuth client `client_id` with `scope` (space-separated), and keeps the id of
    -- a deleted client.
    kind TEXT NOT NULL DEFAULT 'first_party' CHECK (kind IN ('first_party', 'browser', 'sso', 'client')),
    service TEXT,
    client_id TEXT,
    scope TEXT,
    -- When the user last authenticated. A derived session has the time of the session that opened it.
    authenticated_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00',
    -- Whether the user entered a code of their second factor, too.
    has_second_factor BOOLEAN NOT NULL DEFAULT FALSE,
    -- Whether another session vouched for this one, without a password. The number of derived sessions is limited
    -- separately from that of the account's own sign-ins.
    is_derived BOOLEAN NOT NULL DEFAULT FALSE,
    -- The origin of the site that an 'sso' session was handed over to.
    sso_origin TEXT,
    -- The SSO session that opened this one, or that its opener descends from: this one ends with it. A parent row
    -- stays for as long as such a child.
    parent_sid TEXT,
    -- The session in which the user let the client of this one in. Clients with a back-channel logout address sign out
    -- with it.
    authorized_by TEXT,
    CONSTRAINT sessions_refresh_lineage_key UNIQUE (refresh_lineage)
);
CREATE INDEX sessions_user_id ON sessions (user_id);
CREATE INDEX sessions_client_id ON sessions (client_id);
CREATE INDEX sessions_expires_at ON sessions (expires_at);
CREATE INDEX sessions_parent_sid ON sessions (parent_sid) WHERE parent_sid IS NOT NULL;
CREATE INDEX sessions_authorized_by ON sessions (authorized_by) WHERE authorized_by IS NOT NULL;

-- Signing keys. Replicas that start at once agree on one by (algorithm, generation).
CREATE TABLE signing_keys (
    kid TEXT NOT NULL PRIMARY KEY,
    algorithm TEXT NOT NULL,
    generation BIGINT NOT NULL,
    private_key_sealed TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    retired_at TIMESTAMP,
    -- The longest lifetime of any token signed with the key. The key verifies for that long after its retirement.
    longest_ttl_seconds BIGINT NOT NULL DEFAULT 2592000,
    -- The time from which the key signs; it is published earlier.
    signs_from TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00',
    CONSTRAINT signing_keys_algorithm_generation_key UNIQUE (algorithm, generation)
);

-- Teams. The owner is stored only here, so that a team has exactly one.
CREATE TABLE teams (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
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

-- Team members. The owner has a row too; its role applies once the team has been handed over.
CREATE TABLE team_members (
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member')),
    joined_at TIMESTAMP NOT NULL,
    CONSTRAINT team_members_team_id_user_id_key PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_members_user_id ON team_members (user_id);

-- Members who left a team on their own, and can rejoin only by an invitation.
CREATE TABLE team_departures (
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    left_at TIMESTAMP NOT NULL,
    CONSTRAINT team_departures_team_id_user_id_key PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_departures_user_id ON team_departures (user_id);

-- Invitations to teams. A pending one past expires_at counts as expired. token_hash is the hash of the newest mail's
-- token.
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

-- OAuth clients: the programs that may request access to accounts.
CREATE TABLE oauth_clients (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    -- SHA-256 of the secret, which has 256 random bits; null for a public client.
    secret_hash TEXT,
    -- A JSON array of strings.
    redirect_uris TEXT NOT NULL,
    -- The scopes that it may request, and gets if it requests none.
    scope TEXT NOT NULL,
    is_first_party BOOLEAN NOT NULL,
    may_introspect_any BOOLEAN NOT NULL,
    id_token_alg TEXT NOT NULL CHECK (id_token_alg IN ('ES256', 'RS256')),
    -- Whether the configuration file defines the client; it is then changed only there.
    is_configured BOOLEAN NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    -- The grant types for the token endpoint (space-separated).
    grant_types TEXT NOT NULL
        DEFAULT 'authorization_code refresh_token urn:ietf:params:oauth:grant-type:device_code',
    requires_pkce_s256 BOOLEAN NOT NULL DEFAULT FALSE,
    -- Optional metadata, as JSON (RFC 7591 section 2).
    metadata TEXT NOT NULL DEFAULT '{}',
    -- The challenge method of its last authorization code.
    pkce_seen TEXT CHECK (pkce_seen IN ('S256', 'plain', 'none'))
);

-- Authorization codes, by SHA-256. used_at and session_id show what a replayed code was exchanged for.
CREATE TABLE oauth_codes (
    code_hash TEXT NOT NULL PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The session that granted it, which must still be valid when the code is used.
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

-- Consents of accounts to clients, so that they are not asked again.
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
    -- Eight letters, without the dash that is displayed.
    user_code TEXT NOT NULL,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'used')),
    user_id BIGINT REFERENCES users (id) ON DELETE CASCADE,
    -- The session that approved it, which must still be valid when the code is used.
    authorized_by TEXT,
    auth_time TIMESTAMP,
    session_id TEXT,
    -- Seconds between two polls; grows each time the device polls too soon.
    poll_seconds BIGINT NOT NULL,
    polled_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    CONSTRAINT oauth_devices_user_code_key UNIQUE (user_code)
);
CREATE INDEX oauth_devices_client_id ON oauth_devices (client_id);
CREATE INDEX oauth_devices_user_id ON oauth_devices (user_id);
CREATE INDEX oauth_devices_expires_at ON oauth_devices (expires_at);

-- The audit log. Rows are only ever added, and outlive the account.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TIMESTAMP NOT NULL,
    action TEXT NOT NULL,
    user_id BIGINT,
    session_id TEXT,
    address TEXT,
    -- The acting account; null for callers without a sign-in and for the command line.
    actor_id BIGINT,
    -- The channel of the request.
    via TEXT NOT NULL DEFAULT 'http',
    -- Details as JSON.
    details TEXT
);
CREATE INDEX audit_log_user_id ON audit_log (user_id, id);
CREATE INDEX audit_log_actor_id ON audit_log (actor_id, id);
-- The log grows without limit: these indexes find entries by time and by action without reading all of it.
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_action ON audit_log (action, id);
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

-- What each process has to remove from its cache of sessions, accounts, teams, keys and clients. Rows are deleted
-- once all have read them.
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TIMESTAMP NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    kind TEXT NOT NULL CHECK (kind IN ('session', 'user', 'teams', 'keys', 'client')),
    subject TEXT NOT NULL,
    -- Used on PostgreSQL only. SQLite has a single writer, so that ids are in commit order.
    transaction_id BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX changes_at ON changes (at);
CREATE INDEX changes_transaction_id ON changes (transaction_id);

-- Events that wait for the broker, written in the transaction of the change that they report.
CREATE TABLE outbox (
    id TEXT NOT NULL,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'unroutable')),
    -- One index serves both pending events, by age, and unroutable ones.
    PRIMARY KEY (state, id)
);

-- Leases on events that are being published, as inclusive ranges of ids. Taking and releasing one changes no event.
CREATE TABLE outbox_leases (
    first_id TEXT PRIMARY KEY,
    last_id TEXT NOT NULL,
    -- Ranges that were leased together, and are released together.
    batch_id TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
