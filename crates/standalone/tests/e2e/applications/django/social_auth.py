"""As https://python-social-auth.readthedocs.io/en/latest/backends/oidc.html has it."""

import os

APPS = ["social_django"]
BACKENDS = ["social_core.backends.open_id_connect.OpenIdConnectAuth"]
URLS = ("", "social_django.urls")

SOCIAL_AUTH_OIDC_OIDC_ENDPOINT = os.environ["HOLDFAST"]
SOCIAL_AUTH_OIDC_KEY = os.environ["CLIENT_ID"]
SOCIAL_AUTH_OIDC_SECRET = os.environ["CLIENT_SECRET"]
if os.environ["ALGORITHM"] == "ES256":
    SOCIAL_AUTH_OIDC_JWT_ALGORITHMS = ["ES256"]
