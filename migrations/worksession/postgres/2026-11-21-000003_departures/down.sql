DROP TABLE departures;
DROP TABLE teams;
