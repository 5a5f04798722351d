-- Ends the deliveries in $5, a JSON array of ids, unless they have ended. Returns the new steps.
UPDATE deliveries
SET state = $1, step = step + 1, reason = $2, settled_at = $3, payload = CASE WHEN $4 THEN payload END
WHERE id IN (SELECT value FROM json_each($5)) AND state IN ('pending', 'locked', 'sending')
RETURNING id, step
