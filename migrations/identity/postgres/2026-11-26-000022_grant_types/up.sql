-- What a client may come to the token endpoint with, with spaces between. Existing clients go on as they were;
-- a new one says what it needs.
ALTER TABLE oauth_clients ADD COLUMN grant_types TEXT NOT NULL
    DEFAULT 'authorization_code refresh_token urn:ietf:params:oauth:grant-type:device_code';
