-- The deliveries whose turn it is at the destinations in $1, a JSON array: the first ones of each, in their order. They are
-- of the destination's revision or an older one.
SELECT ready.id, ready.kind, ready.destination_id, ready.session_id, ready.request_id, ready.payload, ready.step,
    ready.attempts, ready.tries, ready.give_up_at, ready.message_id, ready.reason, ready.created_at
FROM json_to_recordset($1::json) AS due (medium text, id text, revision bigint, now timestamp, most bigint)
CROSS JOIN LATERAL (
    SELECT * FROM deliveries
    WHERE medium = due.medium AND destination_id = due.id AND settled_at IS NULL
      AND revision <= due.revision AND next_attempt_at <= due.now AND (give_up_at > due.now OR state = 'locked')
      -- The end of a session waits for its plan.
      AND NOT (kind IN ('finished', 'abandoned') AND EXISTS (
          SELECT 1 FROM deliveries AS plans
          WHERE plans.session_id = deliveries.session_id AND plans.kind = 'plan' AND plans.settled_at IS NULL))
    ORDER BY next_attempt_at, id LIMIT due.most
) AS ready
ORDER BY ready.next_attempt_at, ready.id
