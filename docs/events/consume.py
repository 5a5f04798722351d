"""Consumes the session events of a Holdfast from its own queue: misses none, and does its work once for each.

AMQP=amqp://user:password@127.0.0.1:5672 python3 consume.py
"""

import json
import os
import signal
import sqlite3
import sys
import time

import pika
from pika.exceptions import AMQPError

AMQP = os.environ["AMQP"]
# If the operator has set a prefix, it precedes this name.
EXCHANGE = os.environ.get("EXCHANGE", "work.events")
# A unique name; the user `consumer` may declare what begins with `consumer.`. The queue keeps events while this program is
# not running.
QUEUE = os.environ.get("QUEUE", "consumer.sessions")
PARKED = QUEUE + ".parked"
DATABASE = os.environ.get("DATABASE", "consumed.db")


def work(database, event):
    """Processes an event. What it writes is committed together with the id of the event."""
    data = event["data"]
    print(event["type"], data["session_id"], data["user"]["username"], data["category"], flush=True)


def take(database, body):
    """Processes an event once, however often it arrives. Unknown types and fields are no errors."""
    event = json.loads(body)
    with database:  # one transaction for the id and the work
        note = database.execute("INSERT OR IGNORE INTO seen (id) VALUES (?)", (event["id"],))
        if note.rowcount == 1 and event["type"].startswith("session.") and event["type"].endswith(".v1"):
            work(database, event)


def declare(channel):
    """Declares a durable queue, and a second one for events that this program cannot read."""
    # Holdfast declares the exchange; this only checks that it exists.
    channel.exchange_declare(EXCHANGE, passive=True)
    quorum = {"x-queue-type": "quorum"}
    channel.queue_declare(PARKED, durable=True, arguments=quorum)
    # A separate exchange, because permission for the default exchange would allow publishing to every queue.
    channel.exchange_declare(PARKED, exchange_type="fanout", durable=True)
    channel.queue_bind(PARKED, PARKED)
    arguments = quorum | {
        "x-delivery-limit": 10,  # a message that crashes this program ten times is parked
        "x-dead-letter-exchange": PARKED,
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }
    channel.queue_declare(QUEUE, durable=True, arguments=arguments)
    channel.queue_bind(QUEUE, EXCHANGE, routing_key="session.#")


def consume(database):
    """Consumes events until the connection breaks."""
    with pika.BlockingConnection(pika.URLParameters(AMQP)) as connection:
        channel = connection.channel()
        declare(channel)
        channel.basic_qos(prefetch_count=50)
        print("Listening to", QUEUE, flush=True)
        for method, _, body in channel.consume(QUEUE):
            try:
                take(database, body)
            except (ValueError, KeyError, TypeError) as cause:
                print("Parked:", cause, file=sys.stderr)
                channel.basic_nack(method.delivery_tag, requeue=False)
            else:
                # Last: after a crash before this line, the event arrives again.
                channel.basic_ack(method.delivery_tag)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    database = sqlite3.connect(DATABASE)
    database.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY)")
    while True:
        began = time.monotonic()
        try:
            consume(database)
        except AMQPError as cause:
            print("Not connected:", repr(cause), file=sys.stderr)
        # Reconnects at once after a long connection, otherwise after a pause.
        time.sleep(0 if time.monotonic() - began > 60 else 2)


if __name__ == "__main__":
    main()
