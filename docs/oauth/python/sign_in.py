"""Signs a user in with Holdfast: the authorization code flow with PKCE.

A web application does the same in two handlers, one that redirects to `address` and one
behind `redirect_uri`; this program listens on the user's machine for the redirect.
"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet

ISSUER = os.environ["HOLDFAST"]
CLIENT_ID = os.environ["CLIENT_ID"]
CLIENT_SECRET = os.environ["CLIENT_SECRET"]


class Answer(BaseHTTPRequestHandler):
    """Receives the redirect from Holdfast."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Signed in. You can close this window.")
        self.server.answer = self.path

    def log_message(self, *_):
        pass


def id_token_claims(token, metadata, nonce):
    """Returns the claims of the ID token after verifying its signature and checking the claims."""
    keys = KeySet.import_key_set(requests.get(metadata["jwks_uri"]).json())
    algorithms = metadata["id_token_signing_alg_values_supported"]
    signed = jwt.decode(token["id_token"], keys, algorithms=algorithms)
    claims = CodeIDToken(
        signed.claims,
        signed.header,
        {"iss": {"value": metadata["issuer"]}, "aud": {"value": CLIENT_ID}},
        {"nonce": nonce, "client_id": CLIENT_ID, "access_token": token["access_token"]},
    )
    claims.validate(leeway=30)
    return claims


# Discover the endpoints.
metadata = requests.get(f"{ISSUER}/.well-known/openid-configuration").json()

# Send the user to Holdfast. In a web application, `redirect_uri` is a fixed https address.
listener = HTTPServer(("127.0.0.1", 0), Answer)
redirect_uri = f"http://127.0.0.1:{listener.server_port}/callback"
session = OAuth2Session(
    CLIENT_ID,
    CLIENT_SECRET,
    scope="openid profile email teams sessions:read",
    redirect_uri=redirect_uri,
    code_challenge_method="S256",
)
verifier, nonce = generate_token(64), generate_token(32)
address, state = session.create_authorization_url(
    metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
)
print("Open in a browser:", address, flush=True)

# Holdfast sends the user back with a code, or with an error such as access_denied.
listener.handle_request()
answer = parse_qs(urlsplit(listener.answer).query)
assert answer["iss"] == [metadata["issuer"]], "this response is from another issuer"
token = session.fetch_token(
    metadata["token_endpoint"],
    authorization_response=redirect_uri + "?" + urlsplit(listener.answer).query,
    state=state,
    code_verifier=verifier,
)
print("Granted:", token["scope"])

# Read the claims. `sub` is the account's id and never changes; the username can.
claims = id_token_claims(token, metadata, nonce)
print("Id token:", claims["sub"], claims["preferred_username"])
userinfo = session.get(metadata["userinfo_endpoint"]).json()
assert userinfo["sub"] == claims["sub"]
print("User:", userinfo["preferred_username"])

# Call the API with the access token.
teams = session.get(f"{ISSUER}/api/teams").json()["teams"]
print("Teams:", len(teams))

# A refresh token works once. Store the new one.
before = token["refresh_token"]
token = session.refresh_token(metadata["token_endpoint"])
assert token["refresh_token"] != before
print("Refreshed:", token["scope"])

# A resource server introspects the tokens that it receives.
seen = session.introspect_token(metadata["introspection_endpoint"], token["access_token"]).json()
print("Active:", seen["active"], seen["username"])

# Sign out: revoking either token ends the whole grant.
session.revoke_token(metadata["revocation_endpoint"], token["refresh_token"]).raise_for_status()
seen = session.introspect_token(metadata["introspection_endpoint"], token["access_token"]).json()
print("Active:", seen["active"])
