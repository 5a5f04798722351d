"""Receives the calls of a Holdfast webhook, with nothing beyond Python's own library.

HOLDFAST_SECRET=whsec_… python3 receive.py 8000
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


def verify(secret, headers, body, now=None):
    """Raises ValueError unless the call is signed with the secret and at most five minutes old."""
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs((now or time.time()) - int(timestamp)) > 300:
        raise ValueError("signed at another time")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    for signature in headers["webhook-signature"].split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), expected):
            return
    raise ValueError("not signed with this secret")


seen = set()  # a database table with the id as its key, where it matters


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            verify(os.environ["HOLDFAST_SECRET"], self.headers, body)
        except (KeyError, TypeError, ValueError) as refusal:
            self.send_error(401, str(refusal))
            return
        # The same call can come again: after an answer that was lost, and when somebody asks for it.
        if self.headers["webhook-id"] not in seen:
            seen.add(self.headers["webhook-id"])
            event = json.loads(body)
            print(event["type"], event["data"])
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("", int(sys.argv[1])), Receiver).serve_forever()
