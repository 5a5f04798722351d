//! Runs the expressions on a Prometheus.

use super::files::Expression;
use super::names;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use xtask_fixtures::http::Client;
use xtask_kit::cmd::{Context, Result, fail};

/// Has series only while an alert is pending or firing.
const NONE_IN_PEACE: &str = "ALERTS";

/// Returns a complaint for each expression that cannot be run, and for each metric without series, with the first place that
/// names it.
pub(super) fn silent(prometheus: &str, expressions: &[Expression]) -> Result<Vec<String>> {
    let mut client = Client::new(prometheus, "");
    let mut complaints = Vec::new();
    let mut places = BTreeMap::new();
    for Expression { place, text } in expressions {
        if let Err(failure) = series(&mut client, text) {
            complaints.push(format!("{place}: {failure}"));
        }
        for name in names::figures(text) {
            places.entry(name).or_insert(place);
        }
    }
    for (name, place) in places.iter().filter(|(name, _)| *name != NONE_IN_PEACE) {
        // Prometheus exports metrics of its own process under the same names as the product.
        let own = name.starts_with("prometheus_");
        let selector = format!(
            "{name}{{job{}\"prometheus\"}}",
            if own { "=" } else { "!=" }
        );
        if series(&mut client, &selector)? == 0 {
            complaints.push(format!("{place}: there is no series of {name}"));
        }
    }
    Ok(complaints)
}

/// Returns the number of series that an expression has now.
fn series(client: &mut Client, expression: &str) -> Result<usize> {
    // Prometheus counts them, because it would send a long response in chunks.
    let query = format!("query={}", encoded(&format!("count({expression})")));
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let answer = client.ask("POST", "/api/v1/query", form, &query)?;
    let body: Value = serde_json::from_str(&answer.body).context(|| answer.body.clone())?;
    if answer.status != 200 {
        let why = body.get("error").and_then(Value::as_str);
        return fail(why.unwrap_or("refused"));
    }
    match body.pointer("/data/result/0/value/1") {
        None => Ok(0),
        Some(count) => Ok(count.as_str().unwrap_or_default().parse()?),
    }
}

/// Encodes a text for a form: everything but letters and digits as its bytes.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn an_expression_survives_a_form() {
        assert_eq!(encoded("a{b=\"1\"} > 2"), "a%7Bb%3D%221%22%7D%20%3E%202");
    }
}
