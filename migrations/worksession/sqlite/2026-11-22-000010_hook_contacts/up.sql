-- Whom to tell by mail when a project's chat or a webhook is switched off.
CREATE TABLE hook_contacts (
    -- 'chat/' and the team project's id, or 'webhook/' and the webhook's
    hook TEXT PRIMARY KEY,
    -- who configured it
    user_id BIGINT NOT NULL,
    -- the team whose chat or webhook it is; null for a user's own webhook
    team_id BIGINT,
    -- the name and the address, which was proven then
    sealed TEXT NOT NULL
);
CREATE INDEX hook_contacts_user ON hook_contacts (user_id, team_id);
