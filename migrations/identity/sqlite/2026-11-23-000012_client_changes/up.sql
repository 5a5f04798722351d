-- OAuth clients are remembered too, and forgotten when they change.
CREATE TABLE changes_of_all_kinds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TIMESTAMP NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    kind TEXT NOT NULL CHECK (kind IN ('session', 'user', 'teams', 'keys', 'client')),
    subject TEXT NOT NULL,
    transaction_id BIGINT NOT NULL DEFAULT 0
);
INSERT INTO changes_of_all_kinds SELECT id, at, kind, subject, transaction_id FROM changes;
DROP TABLE changes;
ALTER TABLE changes_of_all_kinds RENAME TO changes;
CREATE INDEX changes_at ON changes (at);
CREATE INDEX changes_transaction_id ON changes (transaction_id);
