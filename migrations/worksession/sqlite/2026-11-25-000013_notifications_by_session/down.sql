CREATE TABLE notifications_old (
    event_id TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL,
    team_project_id BIGINT,
    outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'failed', 'skipped')),
    reason TEXT,
    settled_at TIMESTAMP NOT NULL
);
INSERT INTO notifications_old (event_id, session_id, team_project_id, outcome, reason, settled_at)
SELECT event_id, session_id, team_project_id, outcome, reason, settled_at FROM notifications;
DROP TABLE notifications;
ALTER TABLE notifications_old RENAME TO notifications;
CREATE INDEX notifications_by_session ON notifications (session_id);
