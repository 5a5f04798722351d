"""Signs a user in on a device without a browser: the device flow (RFC 8628), with a public client."""

import os
import time

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

ISSUER = os.environ["HOLDFAST"]
CLIENT_ID = os.environ["CLIENT_ID"]

metadata = requests.get(f"{ISSUER}/.well-known/openid-configuration").json()
begun = requests.post(
    metadata["device_authorization_endpoint"],
    data={"client_id": CLIENT_ID, "scope": "openid profile sessions:read sessions:write"},
).json()
print("Open in a browser:", begun["verification_uri"], "and enter:", begun["user_code"], flush=True)

session = OAuth2Session(CLIENT_ID)
interval = begun["interval"]
while True:
    time.sleep(interval)
    try:
        token = session.fetch_token(
            metadata["token_endpoint"],
            grant_type="urn:ietf:params:oauth:grant-type:device_code",
            device_code=begun["device_code"],
        )
        break
    except OAuthError as error:
        if error.error == "slow_down":
            interval += 5
        elif error.error != "authorization_pending":
            raise  # access_denied or expired_token
print("Granted:", token["scope"])
print("User:", session.get(metadata["userinfo_endpoint"]).json())
