-- Stores the delivery in $1, a JSON object, once. Returns its id if it is new.
INSERT INTO deliveries (id, medium, kind, destination_id, revision, session_id, user_id, request_id, payload, state, step,
    attempts, tries, next_attempt_at, give_up_at, reason, created_at, settled_at)
VALUES ($1 ->> 'id', $1 ->> 'medium', $1 ->> 'kind', $1 ->> 'destination_id', $1 ->> 'revision', $1 ->> 'session_id',
    $1 ->> 'user_id', $1 ->> 'request_id', $1 ->> 'payload', $1 ->> 'state', $1 ->> 'step', $1 ->> 'attempts', $1 ->> 'tries',
    $1 ->> 'next_attempt_at', $1 ->> 'give_up_at', $1 ->> 'reason', $1 ->> 'created_at', $1 ->> 'settled_at')
ON CONFLICT (id) DO NOTHING
RETURNING id
