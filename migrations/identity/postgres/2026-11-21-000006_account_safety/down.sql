DROP TABLE recovery_codes;
DROP TABLE totp_factors;
DROP TABLE mail_tokens;
DROP TABLE profile_photos;
ALTER TABLE users DROP COLUMN photo_version;
