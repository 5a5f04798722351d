<?php
// As https://github.com/roundcube/roundcubemail/wiki/Configuration:-OAuth2 has it.
$holdfast = getenv('HOLDFAST');
$config['oauth_provider'] = 'generic';
$config['oauth_provider_name'] = 'Holdfast';
$config['oauth_client_id'] = getenv('CLIENT_ID');
$config['oauth_client_secret'] = getenv('CLIENT_SECRET');
$config['oauth_auth_uri'] = "$holdfast/api/oauth/authorize";
$config['oauth_token_uri'] = "$holdfast/api/oauth/token";
$config['oauth_identity_uri'] = "$holdfast/api/oauth/userinfo";
$config['oauth_scope'] = 'openid profile email offline_access';
$config['oauth_identity_fields'] = ['email'];
$config['oauth_login_redirect'] = true;

// What this test needs to run beside others.
$data = getenv('DATA');
$config['imap_host'] = '127.0.0.1:' . getenv('IMAP_PORT');
$config['db_dsnw'] = "sqlite:///$data/roundcube.db?mode=0600";
$config['temp_dir'] = $data;
$config['log_driver'] = 'stdout';
$config['des_key'] = 'only for this test, 24 b';
$config['http_client'] = ['verify' => getenv('SSL_CERT_FILE')];
