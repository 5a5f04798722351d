DROP INDEX sessions_parent_sid;
ALTER TABLE sessions DROP COLUMN parent_sid;
