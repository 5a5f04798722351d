CREATE TABLE changes_before (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TIMESTAMP NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    kind TEXT NOT NULL CHECK (kind IN ('session', 'user', 'teams', 'keys')),
    subject TEXT NOT NULL,
    transaction_id BIGINT NOT NULL DEFAULT 0
);
INSERT INTO changes_before SELECT id, at, kind, subject, transaction_id FROM changes WHERE kind <> 'client';
DROP TABLE changes;
ALTER TABLE changes_before RENAME TO changes;
CREATE INDEX changes_at ON changes (at);
CREATE INDEX changes_transaction_id ON changes (transaction_id);
