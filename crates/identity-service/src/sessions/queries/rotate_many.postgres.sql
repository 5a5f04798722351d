-- As `rotate.sql`, for the tokens in $1, each of a different session. A locked session is skipped, because a batch that
-- holds locks must not wait for others. Its token is then rotated alone.
WITH new AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS rotations (
        lineage text, presented text, successor text, client_id text, address text, user_agent text, now timestamp,
        idle_until timestamp
    )
),
held AS (
    SELECT new.*, sessions.id AS session_id
    FROM new JOIN sessions ON refresh_lineage = lineage AND refresh_hash = presented
    WHERE refresh_lineage = ANY (ARRAY(SELECT lineage FROM new))
      AND revoked_at IS NULL AND expires_at > new.now AND refresh_expires_at > new.now
      AND CASE WHEN new.client_id IS NULL THEN kind NOT IN ('browser', 'client')
          ELSE kind = 'client' AND sessions.client_id = new.client_id END
      AND EXISTS (SELECT 1 FROM users WHERE users.id = sessions.user_id AND is_active)
    FOR UPDATE OF sessions SKIP LOCKED
)
UPDATE sessions
SET refresh_hash = successor, refresh_previous_hash = presented, refresh_rotated_at = held.now,
    refresh_expires_at = idle_until, address = held.address, user_agent = held.user_agent
FROM held, users
WHERE sessions.id = session_id AND sessions.id = ANY (ARRAY(SELECT session_id FROM held))
  AND users.id = sessions.user_id AND refresh_hash = presented
RETURNING refresh_lineage, sessions.id, authenticated_at, has_second_factor, kind, service, sessions.client_id, scope,
    sso_origin, users.id, username, email, email_verified, bio, website_url, is_active, role, premium_tier,
    premium_expires_at, users.created_at, updated_at, photo_version, display_name, locale, zoneinfo
