"""As https://docs.allauth.org/en/latest/socialaccount/providers/openid_connect.html has it."""

import os

APPS = ["allauth", "allauth.account", "allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"]
MIDDLEWARES = ["allauth.account.middleware.AccountMiddleware"]
BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
URLS = ("accounts/", "allauth.urls")

SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "holdfast",
                "name": "Holdfast",
                "client_id": os.environ["CLIENT_ID"],
                "secret": os.environ["CLIENT_SECRET"],
                "settings": {"server_url": os.environ["HOLDFAST"]},
            }
        ],
    }
}
