SELECT b.user_id, b.username, b.points_centi, b.minutes, b.sessions, b.reached_at
FROM board b JOIN user_settings s ON s.user_id = b.user_id AND s.leaderboard_opt_in
WHERE scope = $1 AND period = $2 AND start = $3 AND points_centi > 0
ORDER BY b.points_centi DESC, b.reached_at, b.user_id LIMIT $4
