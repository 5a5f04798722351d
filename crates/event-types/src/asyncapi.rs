//! Tests that `docs/events/asyncapi.json` describes each event with the example of `docs/events.md`.

use std::fs;

use serde_json::{Map, Value, json};

use crate::Exchange;
use crate::schemas::{all, docs, writes};

#[test]
fn the_asyncapi_document_matches_the_types() {
    let page = fs::read_to_string(docs().join("events.md")).unwrap();
    let path = docs().join("events/asyncapi.json");
    let mut document = asyncapi(&page);
    document.sort_all_objects();
    let now = format!("{document:#}\n");
    if writes() {
        fs::write(&path, &now).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, now, "`cargo xtask events --write` writes it");
}

/// Builds the AsyncAPI document: each event is a channel, whose address is the routing key, with one message.
fn asyncapi(page: &str) -> Value {
    const CONTENT_TYPE: &str = "application/cloudevents+json";
    const SCHEMA_FORMAT: &str = "application/schema+json;version=draft-2020-12";
    // The versions of the AMQP bindings, which have a number of their own.
    let bindings = |mut amqp: Value| {
        amqp["bindingVersion"] = json!("0.3.0");
        json!({ "amqp": amqp })
    };
    let (mut channels, mut messages, mut operations) = (Map::new(), Map::new(), Map::new());
    for event in all() {
        let name = event.name;
        let exchange = json!({
            "name": Exchange::Public.name(), "type": "topic", "durable": true, "autoDelete": false, "vhost": "/",
        });
        let channel = json!({
            "address": name,
            "messages": {name: {"$ref": format!("#/components/messages/{name}")}},
            "bindings": bindings(json!({"is": "routingKey", "exchange": exchange})),
        });
        let message = json!({
            "name": name,
            "summary": event.schema["description"],
            "contentType": CONTENT_TYPE,
            // Without the format, readers would take the schemas for AsyncAPI's own dialect, a superset of draft 07.
            "payload": {
                "schemaFormat": SCHEMA_FORMAT,
                "schema": {"$ref": format!("schemas/{name}.json")},
            },
            "examples": [{"payload": example_in(section_of(page, name), name)}],
            "bindings": bindings(json!({"messageType": name})),
        });
        let operation = json!({
            "action": "send",
            "channel": {"$ref": format!("#/channels/{name}")},
            "summary": event.schema["description"],
            "bindings": bindings(json!({"deliveryMode": 2, "mandatory": true})),
        });
        channels.insert(name.to_owned(), channel);
        messages.insert(name.to_owned(), message);
        operations.insert(name.to_owned(), operation);
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Holdfast events",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Changes, published on RabbitMQ as CloudEvents 1.0 in structured mode. docs/events.md says how to subscribe.",
            "contact": {"name": "Holdfast maintainers"},
            "license": {"name": env!("CARGO_PKG_LICENSE")},
        },
        "defaultContentType": CONTENT_TYPE,
        "servers": {"rabbitmq": {"host": "127.0.0.1:5672", "protocol": "amqp"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages},
    })
}

/// Returns the part of the events page about one event.
pub(crate) fn section_of<'a>(page: &'a str, name: &str) -> &'a str {
    let heading = format!("### `{name}`\n");
    let (_, section) = page
        .split_once(&heading)
        .unwrap_or_else(|| panic!("docs/events.md has no section {heading}"));
    section.split("\n##").next().unwrap()
}

/// Returns the event whose data a section shows.
pub(crate) fn example_in(section: &str, name: &str) -> Value {
    let example = section.split_once("```json\n").unwrap().1;
    let example = example.split_once("```").unwrap().0;
    let data: Value = serde_json::from_str(example).unwrap();
    json!({
        "specversion": "1.0", "id": uuid::Uuid::nil(), "source": "docs", "type": name, "subject": "docs",
        "time": "2026-11-23T09:00:00Z", "datacontenttype": "application/json", "data": data,
    })
}
