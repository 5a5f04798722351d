-- Marks the deliveries in $1, a JSON array, as being sent, each in its message. The condition with the array is
-- for the plan, as in `record_end.postgres.sql`.
UPDATE deliveries
SET state = 'sending', attempts = attempts + 1, tries = tries + 1, message_id = started.message_id
FROM json_to_recordset($1::json) AS started (id text, message_id text)
WHERE deliveries.id = started.id
  AND deliveries.id = ANY (ARRAY(SELECT id FROM json_to_recordset($1::json) AS ids (id text)))
