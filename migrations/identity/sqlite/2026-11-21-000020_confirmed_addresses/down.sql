ALTER TABLE email_claims DROP COLUMN confirmed;
