DROP TABLE inbox;
DROP TABLE outbox;
DROP TABLE user_settings;
DROP TABLE notifications;
DROP TABLE chat_integrations;
DROP TABLE team_projects;
DROP TABLE projects;
