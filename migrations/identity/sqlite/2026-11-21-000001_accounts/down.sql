DROP TABLE email_claims;
DROP TABLE users;
