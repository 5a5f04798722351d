-- Whether another session vouched for this one and no password was shown: a hand-over, a client's access, a pair of
-- sso/token. Such sessions are capped apart from the sign-ins of the account itself.
ALTER TABLE sessions ADD COLUMN is_derived BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE sessions SET is_derived = TRUE WHERE kind IN ('sso', 'client') OR authenticated_at < created_at;
