-- Ends the deliveries in $5, a JSON array of ids, unless they have ended. Returns the new steps. The array
-- keeps PostgreSQL from a join, whose plan, made while the table is small, would read all of it later.
UPDATE deliveries
SET state = $1, step = step + 1, reason = $2, settled_at = $3, payload = CASE WHEN $4 THEN payload END
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($5::json))) AND state IN ('pending', 'locked', 'sending')
RETURNING id, step
