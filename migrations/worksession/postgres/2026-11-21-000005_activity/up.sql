-- What a team does on one of its projects, newest first. Sessions that are nobody's but their user's are not in it.
CREATE INDEX sessions_activity ON sessions (project_id, started_at) WHERE team_id IS NOT NULL;
