-- Releases the destination in $1, a JSON object.
UPDATE destinations SET
    lease_owner = NULL,
    failures = $1 ->> 'failures',
    failing_since = $1 ->> 'failing_since',
    free_at = $1 ->> 'free_at',
    due_at = (
        SELECT min(moments.at) FROM (
            -- The next attempt. The end of a session waits for its plan, as in `list_ready.sqlite.sql`.
            SELECT at FROM (
                SELECT coalesce($1 ->> 'look_at', max(waiting.next_attempt_at, $1 ->> 'free_at')) AS at
                FROM deliveries AS waiting
                WHERE waiting.medium = destinations.medium AND waiting.destination_id = destinations.id
                  AND waiting.settled_at IS NULL AND waiting.revision <= destinations.revision
                  AND NOT (waiting.kind IN ('finished', 'abandoned') AND EXISTS (
                      SELECT 1 FROM deliveries AS plans
                      WHERE plans.session_id = waiting.session_id AND plans.kind = 'plan' AND plans.settled_at IS NULL))
                ORDER BY waiting.next_attempt_at LIMIT 1
            ) AS next
            UNION ALL
            SELECT at FROM (
                SELECT expiring.give_up_at AS at FROM deliveries AS expiring
                WHERE expiring.medium = destinations.medium AND expiring.destination_id = destinations.id
                  AND expiring.settled_at IS NULL
                ORDER BY expiring.give_up_at LIMIT 1
            ) AS first
        ) AS moments
    )
WHERE medium = $1 ->> 'medium' AND id = $1 ->> 'id'
