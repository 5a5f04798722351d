DELETE FROM changes WHERE kind = 'client';
ALTER TABLE changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE changes ADD CONSTRAINT changes_kind_check CHECK (kind IN ('session', 'user', 'teams', 'keys'));
