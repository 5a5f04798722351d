-- 20 is `MAX_DEPTH`.
UPDATE sessions SET revoked_at = $1
WHERE revoked_at IS NULL AND id IN (
    WITH RECURSIVE below (sid, depth) AS (
        -- PostgreSQL expects few rows of an array, but so many of the function that it would read every session with a parent.
        SELECT unnest(ARRAY(SELECT json_array_elements_text($2::json))), 0
        UNION
        SELECT id, depth + 1 FROM below JOIN sessions ON parent_sid = sid WHERE depth < 20
    )
    SELECT sid FROM below
)
RETURNING id
