"""Follows the sessions of a Holdfast, from a queue of its own: misses none, and does its work once for each.

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
# With a prefix of the operator's before it, where there is one.
EXCHANGE = os.environ.get("EXCHANGE", "work.events")
# A name that nobody else uses; the user `consumer` may declare what begins with `consumer.`. What is there when this program
# is away waits for it.
QUEUE = os.environ.get("QUEUE", "consumer.sessions")
PARKED = QUEUE + ".parked"
DATABASE = os.environ.get("DATABASE", "consumed.db")


def work(database, event):
    """What an event is good for; what it writes counts together with the note that the event was seen."""
    data = event["data"]
    print(event["type"], data["session_id"], data["user"]["username"], data["category"], flush=True)


def take(database, body):
    """Does the work, once however often the event comes. A type or a field that is not known is no error."""
    event = json.loads(body)
    with database:  # one transaction: the note and the work, or neither
        note = database.execute("INSERT OR IGNORE INTO seen (id) VALUES (?)", (event["id"],))
        if note.rowcount == 1 and event["type"].startswith("session.") and event["type"].endswith(".v1"):
            work(database, event)


def declare(channel):
    """A queue that survives the broker's restarts, and one beside it for what this program cannot read."""
    # Holdfast declares the exchange; here it is only seen to be there.
    channel.exchange_declare(EXCHANGE, passive=True)
    quorum = {"x-queue-type": "quorum"}
    channel.queue_declare(PARKED, durable=True, arguments=quorum)
    # An exchange of its own: whoever may publish to the default one may put messages into anybody's queue.
    channel.exchange_declare(PARKED, exchange_type="fanout", durable=True)
    channel.queue_bind(PARKED, PARKED)
    arguments = quorum | {
        "x-delivery-limit": 10,  # a message that ends this program every time is parked in the end
        "x-dead-letter-exchange": PARKED,
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }
    channel.queue_declare(QUEUE, durable=True, arguments=arguments)
    channel.queue_bind(QUEUE, EXCHANGE, routing_key="session.#")


def consume(database):
    """Takes what comes, until the connection breaks."""
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
                # Last: whoever is cut off before gets the event again.
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
        # At once after a good while, else with a pause.
        time.sleep(0 if time.monotonic() - began > 60 else 2)


if __name__ == "__main__":
    main()
