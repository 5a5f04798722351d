ALTER TABLE sessions DROP COLUMN is_derived;
