"""Signs in for schemathesis. Its calls may delete the account or end the session, so it gets a new one every few seconds."""

import os
import uuid

import requests
import schemathesis


@schemathesis.auth(refresh_interval=3)
class Account:
    def get(self, case, context):
        name = "u" + uuid.uuid4().hex[:20]
        body = {"username": name, "password": "correct horse battery", "email": f"{name}@example.com"}
        answer = requests.post(f"{os.environ['IDENTITY']}/api/auth/register", json=body, timeout=30)
        answer.raise_for_status()
        return answer.json()["access_token"]

    def set(self, case, data, context):
        case.headers["Authorization"] = f"Bearer {data}"
