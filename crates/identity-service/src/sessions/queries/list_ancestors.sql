-- 20 is `MAX_DEPTH`.
WITH RECURSIVE ancestors (sid, ends, parent, kind, depth) AS (
    SELECT id, expires_at, parent_sid, kind, 0 FROM sessions WHERE id = $1
    UNION
    SELECT id, expires_at, parent_sid, sessions.kind, depth + 1
    FROM sessions JOIN ancestors ON id = parent WHERE depth < 20
)
SELECT sid, ends FROM ancestors WHERE kind = 'sso' OR parent IS NOT NULL ORDER BY depth
