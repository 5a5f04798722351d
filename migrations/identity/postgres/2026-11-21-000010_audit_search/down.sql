DROP INDEX audit_log_action;
DROP INDEX audit_log_at;
