-- What other scopes they had before is not known any more.
UPDATE oauth_clients SET scope = trim(replace(scope, 'account', '')) WHERE scope LIKE '%account%';
UPDATE sessions SET scope = trim(replace(scope, 'account', '')) WHERE scope LIKE '%account%';
UPDATE oauth_codes SET scope = trim(replace(scope, 'account', '')) WHERE scope LIKE '%account%';
UPDATE oauth_consents SET scope = trim(replace(scope, 'account', '')) WHERE scope LIKE '%account%';
UPDATE oauth_devices SET scope = trim(replace(scope, 'account', '')) WHERE scope LIKE '%account%';
