-- Makes the destination in $1, a JSON object, due as soon as it is free. See mark_due.postgres.sql.
INSERT INTO destinations (medium, id, revision, state, failures, free_at, due_at, updated_at)
VALUES ($1 ->> 'medium', $1 ->> 'id', 0, $1 ->> 'state', 0, $1 ->> 'now', $1 ->> 'now', $1 ->> 'now')
ON CONFLICT (medium, id) DO UPDATE
SET due_at = min(max(destinations.free_at, excluded.due_at), $2)
WHERE destinations.lease_owner IS NULL
  AND (destinations.due_at IS NULL OR destinations.due_at > min(max(destinations.free_at, excluded.due_at), $2))
