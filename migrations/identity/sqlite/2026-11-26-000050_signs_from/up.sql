-- From when a key signs: a new one is published before that. Earlier versions make keys that sign at once.
ALTER TABLE signing_keys ADD COLUMN signs_from TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00';
UPDATE signing_keys SET signs_from = created_at;
