-- Codes in a row that were not right, and when the next one is looked at, in milliseconds since the epoch: the wait
-- grows by arithmetic that both databases do alike.
ALTER TABLE totp_factors ADD COLUMN failed_codes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE totp_factors ADD COLUMN next_code_at_ms BIGINT NOT NULL DEFAULT 0;
