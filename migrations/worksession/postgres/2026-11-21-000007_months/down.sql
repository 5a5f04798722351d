DROP INDEX sessions_history;
CREATE INDEX sessions_history ON sessions (user_id, started_at);
DROP TABLE user_month;
