-- The log grows for good: what happened since a moment, and all of one action, are found without reading it.
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_action ON audit_log (action, id);
