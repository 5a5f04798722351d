-- 20 is `MAX_DEPTH`.
UPDATE sessions SET revoked_at = $1
WHERE revoked_at IS NULL AND id IN (
    WITH RECURSIVE below (sid, depth) AS (
        SELECT value, 0 FROM json_each($2)
        UNION
        SELECT id, depth + 1 FROM below JOIN sessions ON parent_sid = sid WHERE depth < 20
    )
    SELECT sid FROM below
)
RETURNING id
