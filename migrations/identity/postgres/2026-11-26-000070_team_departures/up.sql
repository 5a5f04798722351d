-- Who left a team by themselves: they come back by an invitation only.
CREATE TABLE team_departures (
    team_id BIGINT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    left_at TIMESTAMP NOT NULL,
    CONSTRAINT team_departures_team_id_user_id_key PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_departures_user_id ON team_departures (user_id);
