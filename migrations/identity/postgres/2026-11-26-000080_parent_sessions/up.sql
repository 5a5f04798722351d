-- The handed-over session that opened this one, or that the opener descends from: this one ends with it. The parent is
-- kept for as long as one that ends with it.
ALTER TABLE sessions ADD COLUMN parent_sid TEXT;
CREATE INDEX sessions_parent_sid ON sessions (parent_sid) WHERE parent_sid IS NOT NULL;
