SELECT b.user_id, b.username, b.points_centi, b.minutes, b.sessions, b.reached_at
FROM board b
WHERE scope = $1 AND period = $2 AND start = $3 AND points_centi > 0
ORDER BY b.points_centi DESC, b.reached_at, b.user_id LIMIT $4
