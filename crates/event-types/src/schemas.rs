//! Tests that the JSON Schemas in `docs/events/schemas` match the types, and `docs/events.md` matches both.
//! `cargo xtask events --write` writes the schemas, but refuses a change that breaks a version's compatibility.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::asyncapi::{example_in, section_of};
use crate::{
    ChatTested, Event, EventData, EventError, Exchange, IntegrationDisabled, MembershipChanged,
    NotificationDelivered, NotificationFailed, NotificationSkipped, SessionAbandoned,
    SessionRevoked, SessionStarted, SessionSubmitted, TeamChanged, UserChanged, WebhookAttempted,
    WebhookDisabled,
};

/// The id of an account or a team.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Id(#[schemars(range(min = 1))] i64);

/// What an account may do in a team.
#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Role {
    Member,
    Admin,
    Owner,
}

/// The events on `work.private`, and the one that is sent to a single webhook only. They have no public schema.
const PRIVATE: [&str; 8] = [
    "chat.test_requested.v1",
    "identity.logout_requested.v1",
    "integration.configured.v1",
    "mail.requested.v1",
    "webhook.configured.v1",
    "webhook.due.v1",
    "webhook.replayed.v1",
    "webhook.test.v1",
];

/// An event that any program may subscribe to.
pub(crate) struct Public {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    fits: fn(&Event) -> Result<(), EventError>,
}

impl Public {
    fn new<T: EventData + JsonSchema>() -> Self {
        assert_eq!(T::EXCHANGE, Exchange::Public);
        Self {
            name: T::TYPE,
            schema: schema_of::<T>(),
            fits: |event| event.data_as::<T>().map(drop),
        }
    }
}

pub(crate) fn all() -> [Public; 14] {
    [
        Public::new::<SessionStarted>(),
        Public::new::<SessionSubmitted>(),
        Public::new::<SessionAbandoned>(),
        Public::new::<SessionRevoked>(),
        Public::new::<UserChanged>(),
        Public::new::<MembershipChanged>(),
        Public::new::<TeamChanged>(),
        Public::new::<NotificationDelivered>(),
        Public::new::<NotificationFailed>(),
        Public::new::<NotificationSkipped>(),
        Public::new::<IntegrationDisabled>(),
        Public::new::<ChatTested>(),
        Public::new::<WebhookAttempted>(),
        Public::new::<WebhookDisabled>(),
    ]
}

/// Builds the schema of a whole event. Required fields have existed since the first release of the version; nullable
/// or later fields may be absent.
fn schema_of<T: EventData + JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut data = schema.to_value();
    let fields = data.as_object_mut().unwrap();
    let definitions = fields.remove("$defs");
    let description = fields.remove("description").unwrap();
    for name in ["$schema", "title"] {
        fields.remove(name);
    }
    let mut event = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": T::TYPE,
        "description": description,
        "type": "object",
        "required": ["specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {"type": "string", "format": "uuid", "description": "The same however often the event comes."},
            "source": {"type": "string", "description": "The service that tells it."},
            "type": {"const": T::TYPE},
            "subject": {"type": "string", "description": "What it is about."},
            "time": {"type": "string", "format": "date-time", "description": "When it happened, in UTC."},
            "datacontenttype": {"const": "application/json"},
            "requestid": {"type": "string", "description": "The request that led to it."},
            "data": data,
        },
    });
    if let Some(definitions) = definitions {
        event["$defs"] = definitions;
    }
    event
}

pub(crate) fn docs() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs"]
        .iter()
        .collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests have no configuration file"
)]
pub(crate) fn writes() -> bool {
    std::env::var_os("HOLDFAST_WRITE_SCHEMAS").is_some()
}

#[test]
fn the_schemas_in_docs_match_the_types() {
    let folder = docs().join("events/schemas");
    fs::create_dir_all(&folder).unwrap();
    let mut files = BTreeSet::new();
    for mut event in all() {
        let file = format!("{}.json", event.name);
        let path = folder.join(&file);
        files.insert(file);
        event.schema.sort_all_objects();
        let now = format!("{:#}\n", event.schema);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        if !committed.is_empty() {
            let committed: Value = serde_json::from_str(&committed).unwrap();
            let broken = breaks(&committed, &event.schema);
            assert!(
                broken.is_empty(),
                "{}: this is a new version of the event: {broken:?}",
                event.name
            );
        }
        if writes() {
            fs::write(&path, now).unwrap();
        } else {
            assert_eq!(committed, now, "`cargo xtask events --write` writes it");
        }
    }
    let there = fs::read_dir(&folder).unwrap();
    let there: BTreeSet<String> = there
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, files, "an event that once was is told for ever");
}

#[test]
fn every_event_is_listed_as_public_or_private() {
    let known: BTreeSet<&str> = all()
        .iter()
        .map(|event| event.name)
        .chain(PRIVATE)
        .collect();
    let mut named = BTreeSet::new();
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in fs::read_dir(sources).unwrap() {
        let path = file.unwrap().path();
        if path.ends_with("schemas.rs") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let names = text.split('"').filter(|part| is_type(part));
        named.extend(names.map(str::to_owned));
    }
    let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(named, known);
}

/// Whether a text has the form `area.what_happened.v1`.
fn is_type(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let word = |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let number = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|n| n.parse::<u8>().is_ok())
    };
    matches!(parts.as_slice(), [area, what, version] if word(area) && word(what) && number(version))
}

#[test]
fn the_events_page_documents_every_field_and_has_valid_examples() {
    let page = fs::read_to_string(docs().join("events.md")).unwrap();
    for event in all() {
        let section = section_of(&page, event.name);
        let whole = example_in(section, event.name);
        let data = &whole["data"];
        let read = Event::decode(whole.to_string().as_bytes()).unwrap();
        (event.fits)(&read).unwrap_or_else(|cause| panic!("{}: {cause}", event.name));
        for (field, shown) in fields(&event.schema, &event.schema["properties"]["data"], "") {
            let row = format!("| `{field}` |");
            assert!(section.contains(&row), "{}: no row {row}", event.name);
            if !field.contains('.') {
                assert!(
                    data.get(&field).is_some(),
                    "{}: no {field} in the example",
                    event.name
                );
            }
            assert!(shown, "{}: {field} is not described", event.name);
        }
    }
    for name in PRIVATE {
        assert!(page.contains(&format!("`{name}`")), "{name} is not named");
    }
}

/// Returns the names of an object's fields, nested ones included, and whether each has a description.
fn fields(root: &Value, schema: &Value, prefix: &str) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for (name, field) in properties(resolved(root, schema)) {
        let name = format!("{prefix}{name}");
        all.push((name.clone(), field["description"].is_string()));
        let inner = field["anyOf"].get(0).unwrap_or(&field);
        all.extend(fields(root, inner, &format!("{name}.")));
        all.extend(fields(root, &field["items"], &format!("{name}[].")));
    }
    all
}

fn properties(schema: &Value) -> Map<String, Value> {
    schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default()
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str();
    let name = target.and_then(|target| target.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| &root["$defs"][name])
}

/// Lists the changes that break a consumer: a field that is gone, has another type or became optional. A new required
/// field breaks too, because older publishers do not send it.
fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    compare((old, old), (new, new), "event", &mut broken);
    broken
}

fn compare(old: (&Value, &Value), new: (&Value, &Value), at: &str, broken: &mut Vec<String>) {
    let ((old_root, old), (new_root, new)) = (old, new);
    let (old, new) = (resolved(old_root, old), resolved(new_root, new));
    for rule in ["type", "format", "const", "minimum", "maximum"] {
        if old[rule] != new[rule] {
            broken.push(format!("{at}: {rule} was {}, is {}", old[rule], new[rule]));
        }
    }
    let required = |schema: &Value| -> BTreeSet<String> {
        let names = schema["required"].as_array().into_iter().flatten();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    for name in required(old).symmetric_difference(&required(new)) {
        broken.push(format!("{at}.{name}: required is not what it was"));
    }
    let now = properties(new);
    for (name, was) in properties(old) {
        match now.get(&name) {
            Some(is) => compare(
                (old_root, &was),
                (new_root, is),
                &format!("{at}.{name}"),
                broken,
            ),
            None => broken.push(format!("{at}.{name}: is gone")),
        }
    }
    if old["items"].is_object() {
        compare(
            (old_root, &old["items"]),
            (new_root, &new["items"]),
            &format!("{at}[]"),
            broken,
        );
    }
    // A version may add values to an enumeration, but may not allow null.
    let values = |schema: &Value| -> Vec<Value> {
        let listed =
            ["enum", "oneOf"].map(|key| schema[key].as_array().cloned().unwrap_or_default());
        let bare = |value: Value| value.get("const").cloned().unwrap_or(value);
        listed.into_iter().flatten().map(bare).collect()
    };
    for value in values(old) {
        if !values(new).contains(&value) {
            broken.push(format!("{at}: the value {value} is gone"));
        }
    }
    let ways = |schema: &Value| schema["anyOf"].as_array().cloned().unwrap_or_default();
    let (was, is) = (ways(old), ways(new));
    if was.len() != is.len() {
        broken.push(format!("{at}: is of other kinds than it was"));
    }
    for (was, is) in was.iter().zip(&is) {
        compare((old_root, was), (new_root, is), at, broken);
    }
}

#[test]
fn breaking_schema_changes_are_detected_and_additions_are_not() {
    let old = schema_of::<SessionStarted>();
    let data = "/properties/data";
    let edited = |pointer: &str, edit: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        edit(new.pointer_mut(pointer).unwrap());
        breaks(&old, &new)
    };
    let object = |value: &mut Value| value.as_object_mut().unwrap().clone();
    assert_eq!(breaks(&old, &old), Vec::<String>::new());
    let added = edited(data, &|data| {
        data["properties"]["mood"] = json!({"type": "string"})
    });
    assert_eq!(added, Vec::<String>::new());
    let described = edited(data, &|data| {
        data["properties"]["category"]["description"] = json!("Another");
    });
    assert_eq!(described, Vec::<String>::new());

    let gone = edited(data, &|data| {
        let mut left = object(&mut data["properties"]);
        left.remove("category");
        data["properties"] = left.into();
    });
    assert_eq!(gone, ["event.data.category: is gone"]);
    let retyped = edited(data, &|data| {
        data["properties"]["category"]["type"] = json!("integer");
    });
    assert_eq!(
        retyped,
        [r#"event.data.category: type was "string", is "integer""#]
    );
    let nullable = edited(data, &|data| {
        data["properties"]["category"]["type"] = json!(["string", "null"]);
    });
    assert_eq!(nullable.len(), 1);
    let required = edited(data, &|data| {
        data["properties"]["mood"] = json!({"type": "string"});
        data["required"].as_array_mut().unwrap().push(json!("mood"));
    });
    assert_eq!(required, ["event.data.mood: required is not what it was"]);
    let optional = edited(data, &|data| {
        let required = data["required"].as_array_mut().unwrap();
        required.retain(|name| name != "category");
    });
    assert_eq!(
        optional,
        ["event.data.category: required is not what it was"]
    );
    let inside = edited("/$defs/SessionUser", &|user| {
        user["properties"]["id"]["type"] = json!("string");
    });
    assert_eq!(inside.len(), 1, "{inside:?}");
    let inside = edited("/$defs/ChatTarget/properties/revision", &|field| {
        field["format"] = json!("int32");
    });
    assert_eq!(inside.len(), 1, "{inside:?}");

    let old = schema_of::<WebhookAttempted>();
    let mut fewer = old.clone();
    let outcomes = fewer.pointer_mut("/$defs/WebhookOutcome/oneOf").unwrap();
    outcomes.as_array_mut().unwrap().pop();
    assert_eq!(breaks(&old, &fewer).len(), 1);
    assert_eq!(breaks(&fewer, &old), Vec::<String>::new());
}
