-- Ids are never given out twice, not even after the newest account is gone.
CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    username_lower TEXT NOT NULL,
    email TEXT NOT NULL,
    email_verified BOOLEAN NOT NULL DEFAULT FALSE,
    password_hash TEXT NOT NULL,
    bio TEXT,
    website_url TEXT,
    is_active BOOLEAN NOT NULL DEFAULT TRUE,
    role TEXT NOT NULL DEFAULT 'USER' CHECK (role IN ('USER', 'SUPERADMIN')),
    premium_tier TEXT NOT NULL DEFAULT 'FREE' CHECK (premium_tier IN ('FREE', 'PREMIUM')),
    premium_expires_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    CONSTRAINT users_username_lower_key UNIQUE (username_lower)
);

-- Who holds an e-mail address: for good once verified (expires_at is null), for a day after an
-- unverified registration. The address in users says nothing about that: a lapsed claim can be
-- taken over while its old holder still shows the address.
CREATE TABLE email_claims (
    email_lower TEXT NOT NULL,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at TIMESTAMP,
    CONSTRAINT email_claims_email_lower_key PRIMARY KEY (email_lower)
);
CREATE INDEX email_claims_user_id ON email_claims (user_id);
