"""Prints the type of each published event, and how it violates its schema."""

import json
import os
import pathlib

import pika
from jsonschema import Draft202012Validator

SCHEMAS = pathlib.Path(os.environ["SCHEMAS"])
EXCHANGE = os.environ["EXCHANGE"]


def complaints(body):
    event = json.loads(body)
    path = SCHEMAS / (event["type"] + ".json")
    if not path.exists():
        return event["type"], ["it has no schema"]
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    found = [error.message for error in validator.iter_errors(event)]
    described = schema["properties"].keys()
    found += [f"{name} is not described" for name in event.keys() - described]
    found += [f"data.{name} is not described" for name in event["data"].keys() - schema["properties"]["data"]["properties"].keys()]
    return event["type"], found


with pika.BlockingConnection(pika.URLParameters(os.environ["AMQP"])) as connection:
    channel = connection.channel()
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, EXCHANGE, routing_key="#")
    print("Listening", flush=True)
    for method, properties, body in channel.consume(queue, auto_ack=True):
        name, found = complaints(body)
        if method.routing_key != name or properties.message_id != json.loads(body)["id"]:
            found.append("its key or its message_id is another")
        print(name, *found, sep=": ", flush=True)
