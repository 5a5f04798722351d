-- The origin of the site that a sign-in was handed over to; none for other kinds, and for hand-overs of before.
ALTER TABLE sessions ADD COLUMN sso_origin TEXT;
