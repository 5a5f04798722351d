//! Layers of settings.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Merges the layers; later ones win, key by key.
pub fn merged<T: DeserializeOwned>(layers: impl IntoIterator<Item = Value>) -> T {
    let mut all = json!({});
    for layer in layers {
        merge(&mut all, layer);
    }
    serde_json::from_value(all).expect("the configuration fits")
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over,
    }
}
