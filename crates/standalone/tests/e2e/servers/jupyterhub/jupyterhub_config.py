"""As https://oauthenticator.readthedocs.io/en/latest/tutorials/provider-specific-setup/providers/generic.html has it."""

import os

HOLDFAST = os.environ["HOLDFAST"]
c = get_config()  # noqa: F821

c.JupyterHub.authenticator_class = "generic-oauth"
c.GenericOAuthenticator.client_id = os.environ["CLIENT_ID"]
c.GenericOAuthenticator.client_secret = os.environ["CLIENT_SECRET"]
c.GenericOAuthenticator.oauth_callback_url = os.environ["BASE_URL"] + "/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = f"{HOLDFAST}/api/oauth/authorize"
c.GenericOAuthenticator.token_url = f"{HOLDFAST}/api/oauth/token"
c.GenericOAuthenticator.userdata_url = f"{HOLDFAST}/api/oauth/userinfo"
c.GenericOAuthenticator.scope = ["openid", "profile", "email", "groups"]
c.GenericOAuthenticator.username_claim = "preferred_username"
c.GenericOAuthenticator.manage_groups = True
c.GenericOAuthenticator.auth_state_groups_key = "oauth_user.groups"
c.GenericOAuthenticator.allowed_groups = {"night-shift"}
c.Authenticator.enable_auth_state = True

# What this test needs to run beside others.
data, port = os.environ["DATA"], int(os.environ["PORT"])
c.CryptKeeper.keys = [b"only for this test, thirty-two b"]
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.db_url = f"sqlite:///{data}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = f"{data}/cookie_secret"
c.JupyterHub.bind_url = os.environ["BASE_URL"]
c.JupyterHub.hub_port = port - 10_000
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{port - 10_001}"
c.ConfigurableHTTPProxy.pid_file = f"{data}/proxy.pid"
c.ConfigurableHTTPProxy.command = [os.environ["NODE"], os.environ["PROXY"]]
