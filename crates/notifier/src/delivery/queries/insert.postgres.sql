-- Stores the deliveries in $1, a JSON array, each once. Returns the ids of the new ones.
INSERT INTO deliveries (id, medium, kind, destination_id, revision, session_id, user_id, request_id, payload, state, step,
    attempts, tries, next_attempt_at, give_up_at, reason, created_at, settled_at)
SELECT id, medium, kind, destination_id, revision, session_id, user_id, request_id, payload, state, step,
    attempts, tries, next_attempt_at, give_up_at, reason, created_at, settled_at
FROM json_populate_recordset(NULL::deliveries, $1::json)
ON CONFLICT (id) DO NOTHING
RETURNING id
