ALTER TABLE totp_factors DROP COLUMN next_code_at_ms;
ALTER TABLE totp_factors DROP COLUMN failed_codes;
