//! Log lines on standard error: text for people, or one JSON object a line with `LOG_FORMAT=json`.
//!
//! `RUST_LOG` filters as usual [info]. Standard output stays free for the `listening` lines.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    io::{self, Write as _},
};

use env_logger::{Builder, Env, Target, fmt::Formatter};
use log::{
    LevelFilter, Record,
    kv::{self, Key, Value, VisitSource},
};

/// Libraries whose finer levels print what must not be in a log: request lines with the path of a
/// hook URL, headers with tokens, the broker's log-in frame.
const QUIET: [&str; 8] = [
    "actix_http",
    "amq_protocol",
    "h2",
    "hyper",
    "hyper_util",
    "lapin",
    "reqwest",
    "rustls",
];

/// Installs the logger for the process. A second call changes nothing.
pub fn init() {
    #[expect(
        clippy::disallowed_methods,
        reason = "like RUST_LOG, read before there is a configuration that could fail and be logged"
    )]
    let json = std::env::var_os("LOG_FORMAT").is_some_and(|value| value == OsStr::new("json"));
    let mut builder = Builder::from_env(Env::default().default_filter_or("info"));
    for library in QUIET {
        builder.filter_module(library, LevelFilter::Info);
    }
    let format = if json { write_json } else { write_text };
    // An error means that there is a logger already; the first one stays.
    let _ = builder.target(Target::Stderr).format(format).try_init();
}

/// One record as a line of text, without time: `LEVEL target: message key=value …`.
///
/// Control characters are escaped, so that what a client sends cannot forge a line.
pub fn text_line(record: &Record<'_>) -> String {
    let mut line = format!("{:5} {}: ", record.level(), record.target());
    escape(&mut line, &record.args().to_string());
    // The visitor below never fails.
    let _ = record.key_values().visit(&mut Text(&mut line));
    line
}

fn write_text(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let time = out.timestamp_millis();
    writeln!(out, "{time} {}", text_line(record))
}

fn write_json(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let mut fields = Fields(serde_json::Map::new());
    let _ = record.key_values().visit(&mut fields);
    let line = serde_json::json!({
        "ts": out.timestamp_micros().to_string(),
        "level": record.level().as_str(),
        "target": record.target(),
        "msg": record.args().to_string(),
        "kv": fields.0,
    });
    writeln!(out, "{line}")
}

struct Text<'a>(&'a mut String);

impl<'kvs> VisitSource<'kvs> for Text<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
        write!(self.0, " {key}=")?;
        escape(self.0, &value.to_string());
        Ok(())
    }
}

struct Fields(serde_json::Map<String, serde_json::Value>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
        let json = if let Some(number) = value.to_i64() {
            number.into()
        } else if let Some(number) = value.to_u64() {
            number.into()
        } else if let Some(number) = value.to_f64() {
            number.into()
        } else if let Some(flag) = value.to_bool() {
            flag.into()
        } else {
            value.to_string().into()
        };
        self.0.insert(key.to_string(), json);
        Ok(())
    }
}

fn escape(line: &mut String, text: &str) {
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text_line;
    use log::{Level, Record};

    #[test]
    fn a_line_break_in_a_message_or_value_stays_inside_the_line() {
        let line = text_line(
            &Record::builder()
                .args(format_args!("bad name\n2026 ERROR forged"))
                .level(Level::Warn)
                .target("identity")
                .key_values(&[("request_id", "a\r\nb")])
                .build(),
        );
        assert_eq!(
            line,
            r"WARN  identity: bad name\n2026 ERROR forged request_id=a\r\nb"
        );
    }
}
