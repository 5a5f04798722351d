"""As https://www.pgadmin.org/docs/pgadmin4/latest/oauth2.html has it."""

import os

HOLDFAST = os.environ["HOLDFAST"]
DATA_DIR = os.environ["DATA"]
DEFAULT_SERVER_PORT = int(os.environ["PORT"])
SERVER_MODE = True
MASTER_PASSWORD_REQUIRED = False
UPGRADE_CHECK_ENABLED = False

AUTHENTICATION_SOURCES = ["oauth2"]
OAUTH2_AUTO_CREATE_USER = True
OAUTH2_CONFIG = [
    {
        "OAUTH2_NAME": "holdfast",
        "OAUTH2_DISPLAY_NAME": "Holdfast",
        "OAUTH2_CLIENT_ID": os.environ["CLIENT_ID"],
        "OAUTH2_CLIENT_SECRET": os.environ["CLIENT_SECRET"],
        "OAUTH2_SERVER_METADATA_URL": f"{HOLDFAST}/.well-known/openid-configuration",
        "OAUTH2_TOKEN_URL": f"{HOLDFAST}/api/oauth/token",
        "OAUTH2_AUTHORIZATION_URL": f"{HOLDFAST}/api/oauth/authorize",
        "OAUTH2_API_BASE_URL": f"{HOLDFAST}/api/oauth/",
        "OAUTH2_USERINFO_ENDPOINT": "userinfo",
        "OAUTH2_SCOPE": "openid email profile",
        "OAUTH2_ICON": "fa-lock",
    }
]
