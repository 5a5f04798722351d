DROP TABLE audit_log;
DROP TABLE signing_keys;
DROP TABLE sessions;
