-- The presented token must be the current one, come from its holder, and belong to an active account.
UPDATE sessions
SET refresh_hash = $1, refresh_previous_hash = $2, refresh_rotated_at = $3, refresh_expires_at = $4, address = $5, user_agent = $6
WHERE refresh_lineage = $7 AND refresh_hash = $2
  AND revoked_at IS NULL AND expires_at > $3 AND refresh_expires_at > $3
  AND CASE WHEN $8 IS NULL THEN kind NOT IN ('browser', 'client') ELSE kind = 'client' AND client_id = $8 END
  AND EXISTS (SELECT 1 FROM users WHERE users.id = sessions.user_id AND is_active)
