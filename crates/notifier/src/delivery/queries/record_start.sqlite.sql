-- Marks the delivery in $1, a JSON object, as being sent in its message.
UPDATE deliveries
SET state = 'sending', attempts = attempts + 1, tries = tries + 1, message_id = $1 ->> 'message_id'
WHERE id = $1 ->> 'id'
