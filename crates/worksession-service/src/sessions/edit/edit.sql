-- Updates the note, the tags and, if $3, the rating of the submitted session $7. A null note or null tags stay as they are.
UPDATE sessions
SET note = COALESCE($1, note), tags = COALESCE($2, tags), quality_rating = CASE WHEN $3 THEN $4 ELSE quality_rating END,
    seq = $5, changed_at = $6
WHERE session_id = $7 AND user_id = $8 AND submitted_at IS NOT NULL
RETURNING session_id, status, category, planned_duration, planning_note, project_id, project_name, started_at, expected_end_at,
    ended_at, start_time, end_time, submitted_at, credited_minutes, points_centi, note, quality_rating, tags, client,
    COALESCE((SELECT string_agg(f.kind || ':' || f.severity || ':' || f.amount || ':' || f.state, ',' ORDER BY f.id)
        FROM session_flags f WHERE f.session_id = sessions.session_id), '')
