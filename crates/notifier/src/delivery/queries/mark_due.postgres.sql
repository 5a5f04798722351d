-- Makes the destinations in $1, a JSON array, due as soon as they are free, at $2 at the latest, and inserts missing ones. A
-- leased one is only locked; it is checked at the end of the lease.
INSERT INTO destinations (medium, id, revision, state, failures, free_at, due_at, updated_at)
SELECT expected.medium, expected.id, 0, expected.state, 0, expected.now, expected.now, expected.now
FROM json_to_recordset($1::json) AS expected (medium text, id text, state text, now timestamp)
ON CONFLICT (medium, id) DO UPDATE
SET due_at = least(greatest(destinations.free_at, excluded.due_at), $2)
WHERE destinations.lease_owner IS NULL
  AND (destinations.due_at IS NULL OR destinations.due_at > least(greatest(destinations.free_at, excluded.due_at), $2))
