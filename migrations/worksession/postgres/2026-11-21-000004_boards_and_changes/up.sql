-- Each user's changes are counted, so that a client can ask for what came after the last it saw. The counter's
-- row is the first that a change locks: the changes of one user become visible in the order of their numbers.
CREATE TABLE user_sync (
    user_id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL
);

-- The number and the time of the last change; a session of the version before has the number 0 until then.
ALTER TABLE sessions ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN changed_at TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00';
-- Whether the session's credit stands on the boards.
ALTER TABLE sessions ADD COLUMN on_boards BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE user_settings ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;

-- What is there already: first the settings, then the projects, then the sessions.
UPDATE user_settings SET seq = 1;
UPDATE projects SET seq = numbered.seq
FROM (SELECT id AS project, 1 + row_number() OVER (PARTITION BY user_id ORDER BY id) AS seq FROM projects) AS numbered
WHERE id = numbered.project;
UPDATE sessions SET seq = numbered.seq, changed_at = COALESCE(submitted_at, ended_at, started_at)
FROM (SELECT session_id AS session, (SELECT COUNT(*) FROM projects p WHERE p.user_id = s.user_id)
      + 1 + row_number() OVER (PARTITION BY user_id ORDER BY started_at, session_id) AS seq FROM sessions s) AS numbered
WHERE session_id = numbered.session;
INSERT INTO user_sync (user_id, seq)
SELECT user_id, MAX(seq) FROM (
    SELECT user_id, seq FROM sessions UNION ALL SELECT user_id, seq FROM projects UNION ALL SELECT user_id, seq FROM user_settings
) AS changed GROUP BY user_id;

CREATE INDEX sessions_changes ON sessions (user_id, seq);
-- What changed lately, whoever did it, for live events.
CREATE INDEX sessions_changed ON sessions (changed_at);

-- What was seen, in the unit of its kind: seconds, minutes, attempts; and what somebody decided about it.
ALTER TABLE session_flags ADD COLUMN amount BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session_flags ADD COLUMN state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'cleared', 'upheld'));
ALTER TABLE session_flags ADD COLUMN decided_at TIMESTAMP;
ALTER TABLE session_flags ADD COLUMN decision TEXT;
CREATE INDEX session_flags_open ON session_flags (id) WHERE state = 'open';

-- How each day divides: JSON objects from the hour, the category or the project to [sessions, minutes, points in hundredths].
ALTER TABLE user_day ADD COLUMN by_hour TEXT NOT NULL DEFAULT '{}';
ALTER TABLE user_day ADD COLUMN by_category TEXT NOT NULL DEFAULT '{}';
ALTER TABLE user_day ADD COLUMN by_project TEXT NOT NULL DEFAULT '{}';

-- Leaderboards by UTC periods. Scope 0 counts everything, any other the sessions on that team's projects.
CREATE TABLE board (
    scope BIGINT NOT NULL,
    period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'all')),
    -- the period's first day; that of 'all' is 1970-01-01
    start DATE NOT NULL,
    user_id BIGINT NOT NULL,
    username TEXT NOT NULL,
    points_centi BIGINT NOT NULL,
    minutes BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    -- when the points were reached: of equals, who got there first stands higher
    reached_at TIMESTAMP NOT NULL,
    PRIMARY KEY (scope, period, start, user_id)
);
CREATE INDEX board_user ON board (user_id);
