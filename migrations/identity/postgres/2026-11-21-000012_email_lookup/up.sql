-- Whoever proves an address takes it from all who show it, whatever became of their claims to it.
CREATE INDEX users_email_lower ON users (lower(email));
