-- One index in place of two: every notification is looked for by its session.
CREATE TABLE notifications_new (
    event_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    team_project_id BIGINT,
    outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'failed', 'skipped')),
    reason TEXT,
    settled_at TIMESTAMP NOT NULL,
    PRIMARY KEY (session_id, event_id)
);
INSERT INTO notifications_new (event_id, session_id, team_project_id, outcome, reason, settled_at)
SELECT event_id, session_id, team_project_id, outcome, reason, settled_at FROM notifications;
DROP TABLE notifications;
ALTER TABLE notifications_new RENAME TO notifications;
