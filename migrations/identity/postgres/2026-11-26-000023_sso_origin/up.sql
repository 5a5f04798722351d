-- The origin of the site that a sign-in was handed over to; none for other kinds, and for existing hand-overs.
ALTER TABLE sessions ADD COLUMN sso_origin TEXT;
