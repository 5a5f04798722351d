DROP TABLE team_departures;
