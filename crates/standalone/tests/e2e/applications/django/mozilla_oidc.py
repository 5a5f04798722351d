"""As https://mozilla-django-oidc.readthedocs.io/en/stable/installation.html has it."""

import os

HOLDFAST = os.environ["HOLDFAST"]
APPS = ["mozilla_django_oidc"]
BACKENDS = ["mozilla_django_oidc.auth.OIDCAuthenticationBackend"]
URLS = ("oidc/", "mozilla_django_oidc.urls")

OIDC_RP_CLIENT_ID = os.environ["CLIENT_ID"]
OIDC_RP_CLIENT_SECRET = os.environ["CLIENT_SECRET"]
OIDC_RP_SIGN_ALGO = os.environ["ALGORITHM"]
OIDC_OP_JWKS_ENDPOINT = f"{HOLDFAST}/.well-known/jwks.json"
OIDC_OP_AUTHORIZATION_ENDPOINT = f"{HOLDFAST}/api/oauth/authorize"
OIDC_OP_TOKEN_ENDPOINT = f"{HOLDFAST}/api/oauth/token"
OIDC_OP_USER_ENDPOINT = f"{HOLDFAST}/api/oauth/userinfo"
