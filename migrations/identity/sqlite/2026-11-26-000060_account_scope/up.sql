-- Scopes bind the product's own clients too: they keep all that they could do until now.
UPDATE oauth_clients SET scope = 'openid profile email teams teams:write sessions:read sessions:write integrations:write offline_access account' WHERE is_first_party;
UPDATE sessions SET scope = 'openid profile email teams teams:write sessions:read sessions:write integrations:write offline_access account'
    WHERE client_id IN (SELECT id FROM oauth_clients WHERE is_first_party);
