DROP INDEX teams_owner_id;
DROP TABLE invitations;
