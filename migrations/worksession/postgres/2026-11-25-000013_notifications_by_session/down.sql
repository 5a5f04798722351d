ALTER TABLE notifications DROP CONSTRAINT notifications_pkey;
ALTER TABLE notifications ADD PRIMARY KEY (event_id);
CREATE INDEX notifications_by_session ON notifications (session_id);
