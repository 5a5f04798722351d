-- What every process that remembers sessions, accounts or keys must forget. Stamped by the database's
-- clock, read again over its last seconds, and swept once nobody reads it any more.
CREATE TABLE changes (
    id BIGSERIAL PRIMARY KEY,
    at TIMESTAMP NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC'),
    kind TEXT NOT NULL CHECK (kind IN ('session', 'user', 'teams', 'keys')),
    subject TEXT NOT NULL
);
CREATE INDEX changes_at ON changes (at);

-- The longest life of any token that was signed with the key: it verifies that long after it retired.
ALTER TABLE signing_keys ADD COLUMN longest_ttl_seconds BIGINT NOT NULL DEFAULT 2592000;

-- Where a sign-in was made, for its owner's list.
ALTER TABLE sessions ADD COLUMN address TEXT;
ALTER TABLE sessions ADD COLUMN user_agent TEXT;
CREATE INDEX sessions_expires_at ON sessions (expires_at);

-- Who did it (nobody signed in, or the command line, when null), by which way, and what exactly (JSON).
ALTER TABLE audit_log ADD COLUMN actor_id BIGINT;
ALTER TABLE audit_log ADD COLUMN via TEXT NOT NULL DEFAULT 'http';
ALTER TABLE audit_log ADD COLUMN details TEXT;
CREATE INDEX audit_log_user_id ON audit_log (user_id, id);
CREATE INDEX audit_log_actor_id ON audit_log (actor_id, id);
CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END
$$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();
