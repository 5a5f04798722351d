-- Stores the deliveries in $1, a JSON array, each once. Returns the ids of the new ones.
INSERT INTO deliveries SELECT * FROM json_populate_recordset(NULL::deliveries, $1::json)
ON CONFLICT (id) DO NOTHING
RETURNING id
