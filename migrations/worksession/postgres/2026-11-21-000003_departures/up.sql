-- The last word of the identity area about each team, so that an older one that comes later changes nothing.
CREATE TABLE teams (
    team_id BIGINT PRIMARY KEY,
    -- when the change happened there
    told_at TIMESTAMP NOT NULL,
    -- for good: no later word undoes it
    deleted BOOLEAN NOT NULL
);

-- Accounts and teams that are gone for good, until nothing is left to take away.
CREATE TABLE departures (
    kind TEXT NOT NULL CHECK (kind IN ('user', 'team')),
    id BIGINT NOT NULL,
    noted_at TIMESTAMP NOT NULL,
    -- when to look for what is left
    due_at TIMESTAMP NOT NULL,
    PRIMARY KEY (kind, id)
);
