-- So that what has run out is found without reading all that waits for a hook.
CREATE INDEX deliveries_expiring ON deliveries (project_id, give_up_at, event_id) WHERE settled_at IS NULL;
CREATE INDEX webhook_calls_expiring ON webhook_calls (webhook_id, give_up_at, delivery_id) WHERE settled_at IS NULL;

-- So that a plan finds the end that came before it, and that there is none costs nothing.
CREATE INDEX deliveries_ends ON deliveries (session_id) WHERE kind IN ('finished', 'abandoned') AND settled_at IS NULL;
