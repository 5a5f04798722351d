ALTER TABLE sessions DROP COLUMN sso_origin;
