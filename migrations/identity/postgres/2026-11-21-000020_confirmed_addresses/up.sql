-- Whether the account's password was shown, or chosen, by who gave the address. To no other is a link to a
-- new password mailed: who has stolen an access token must not get the account by an address of his own.
ALTER TABLE email_claims ADD COLUMN confirmed BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE email_claims SET confirmed = TRUE
    WHERE user_id NOT IN (SELECT user_id FROM audit_log WHERE action = 'account.email_set' AND user_id IS NOT NULL);
