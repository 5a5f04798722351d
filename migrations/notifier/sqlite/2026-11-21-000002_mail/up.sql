-- One row for each mail that was asked for. Whom it goes to and what it says stays sealed.
CREATE TABLE mails (
    event_id TEXT PRIMARY KEY,
    template TEXT NOT NULL,
    -- Dropped when the row is settled.
    sealed TEXT,
    request_id TEXT,
    -- 'locked': sealed with a key that is not configured.
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'locked', 'delivered', 'failed')),
    attempts BIGINT NOT NULL,
    -- When it is to be tried; the end of the lease while somebody holds it.
    due_at TIMESTAMP NOT NULL,
    lease_owner TEXT,
    give_up_at TIMESTAMP NOT NULL,
    reason TEXT,
    created_at TIMESTAMP NOT NULL,
    settled_at TIMESTAMP
);
CREATE INDEX mails_due ON mails (due_at, event_id) WHERE settled_at IS NULL;
CREATE INDEX mails_settled ON mails (settled_at) WHERE settled_at IS NOT NULL;
