-- Who is asked into which team. A pending one whose time is over is expired; the token of the newest mail
-- is kept as a hash.
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
CREATE INDEX teams_owner_id ON teams (owner_id);
