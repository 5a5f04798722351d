-- The deliveries whose turn it is at the destination in $1, a JSON object. See list_ready.postgres.sql.
SELECT id, kind, destination_id, session_id, request_id, payload, step, attempts, tries, give_up_at, message_id, reason,
    created_at
FROM deliveries
WHERE medium = $1 ->> 'medium' AND destination_id = $1 ->> 'id' AND settled_at IS NULL
  AND revision <= $1 ->> 'revision' AND next_attempt_at <= $1 ->> 'now'
  AND (give_up_at > $1 ->> 'now' OR state = 'locked')
  AND NOT (kind IN ('finished', 'abandoned') AND EXISTS (
      SELECT 1 FROM deliveries AS plans
      WHERE plans.session_id = deliveries.session_id AND plans.kind = 'plan' AND plans.settled_at IS NULL))
ORDER BY next_attempt_at, id LIMIT $1 ->> 'most'
