-- Releases the destinations in $1, a JSON array.
UPDATE destinations SET
    lease_owner = NULL,
    failures = released.failures,
    failing_since = released.failing_since,
    free_at = released.free_at,
    due_at = (
        SELECT min(moments.at) FROM (
            -- The next attempt. The end of a session waits for its plan, as in `list_ready.postgres.sql`.
            SELECT at FROM (
                SELECT coalesce(released.look_at, greatest(waiting.next_attempt_at, released.free_at)) AS at
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
FROM json_to_recordset($1::json) AS released (
    medium text, id text, failures bigint, failing_since timestamp, free_at timestamp, look_at timestamp
)
WHERE destinations.medium = released.medium AND destinations.id = released.id
