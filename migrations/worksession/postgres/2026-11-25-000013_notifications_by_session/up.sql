-- One index in place of two: every notification is looked for by its session.
DROP INDEX notifications_by_session;
ALTER TABLE notifications DROP CONSTRAINT notifications_pkey;
ALTER TABLE notifications ADD PRIMARY KEY (session_id, event_id);
