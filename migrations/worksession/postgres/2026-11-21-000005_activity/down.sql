DROP INDEX sessions_activity;
