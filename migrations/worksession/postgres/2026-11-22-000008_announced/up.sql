-- What a project's chat is told of, with commas between: planned, finished, abandoned.
ALTER TABLE chat_integrations ADD COLUMN announce TEXT NOT NULL DEFAULT 'planned,finished';
