ALTER TABLE oauth_clients DROP COLUMN grant_types;
