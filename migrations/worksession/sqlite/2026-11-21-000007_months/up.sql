-- How each month divides: JSON objects from the day of the month, the hour, the category or the project to
-- [sessions, minutes, points in hundredths]. A year is then twelve rows, not one for each of its days.
CREATE TABLE user_month (
    user_id BIGINT NOT NULL,
    -- the month's first day
    month DATE NOT NULL,
    by_day TEXT NOT NULL,
    by_hour TEXT NOT NULL,
    by_category TEXT NOT NULL,
    by_project TEXT NOT NULL,
    PRIMARY KEY (user_id, month)
);

-- In the very order of the list: with less PostgreSQL would rather sort a user's whole history.
DROP INDEX sessions_history;
CREATE INDEX sessions_history ON sessions (user_id, started_at, session_id);
