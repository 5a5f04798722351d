//! Generates a client from each OpenAPI document with progenitor.

use std::{env, fs, path::Path};

use serde_json::{Map, Value, json};

fn main() {
    let documents = env::var("HOLDFAST_E2E_OPENAPI").unwrap();
    for service in ["identity", "worksession"] {
        let path = Path::new(&documents).join(service).with_extension("json");
        println!("cargo::rerun-if-changed={}", path.display());
        let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        reduce(&mut document);
        document["openapi"] = json!("3.0.3");
        let document = serde_json::from_value(document).unwrap();
        let tokens = progenitor::Generator::default()
            .generate_tokens(&document)
            .unwrap();
        let code = prettyplease::unparse(&syn::parse2(tokens).unwrap());
        let target = Path::new(&env::var("OUT_DIR").unwrap()).join(service);
        fs::write(target.with_extension("rs"), code).unwrap();
    }
    println!("cargo::rerun-if-env-changed=HOLDFAST_E2E_OPENAPI");
}

/// Reduces a document to what progenitor knows: OpenAPI 3.0, one media type for each request, and no redirects.
fn reduce(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(reduce),
        Value::Object(fields) => {
            if let Some(Value::Object(responses)) = fields.get_mut("responses") {
                responses.retain(|status, _| !status.starts_with('3'));
            }
            if let Some(Value::Object(body)) = fields.get_mut("requestBody") {
                keep_one_content(body);
            }
            nullable(fields);
            fields.retain(|name, value| name != "default" || !value.is_null());
            fields.values_mut().for_each(reduce);
        }
        _ => {}
    }
}

/// Of several media types, all are images but one form.
fn keep_one_content(body: &mut Map<String, Value>) {
    let content = body["content"].as_object_mut().unwrap();
    if let Some(image) = content.remove("image/png") {
        *content = Map::from_iter([("application/octet-stream".to_owned(), image)]);
    }
}

/// In OpenAPI 3.0, null is not a type but a property of a schema.
fn nullable(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let kind = types.iter().find(|kind| *kind != "null").unwrap().clone();
        schema.insert("type".to_owned(), kind);
        schema.insert("nullable".to_owned(), json!(true));
    }
    if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
        let all = choices.len();
        choices.retain(|choice| choice["type"] != "null");
        if choices.len() < all {
            let choices = schema.remove("oneOf").unwrap();
            schema.insert("allOf".to_owned(), choices);
            schema.insert("nullable".to_owned(), json!(true));
        }
    }
}
