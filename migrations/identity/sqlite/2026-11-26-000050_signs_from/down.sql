ALTER TABLE signing_keys DROP COLUMN signs_from;
