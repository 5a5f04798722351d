//! Log lines on standard error: text for people, or one JSON object per line with `LOG_FORMAT=json`.
//!
//! `RUST_LOG` filters as usual; the default is `info`. Standard output stays free for the `listening` lines.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    io::{self, Write as _},
};

use chrono::{DateTime, SecondsFormat, Utc};
use env_logger::{Builder, Env, Logger, Target, fmt::Formatter};
use log::{
    LevelFilter, Log, Metadata, Record,
    kv::{self, Key, Value, VisitSource},
};

use crate::Clock;

/// Libraries whose finer levels are suppressed. They print what must not be in a log, such as request lines with the path of an
/// incoming webhook, headers with tokens, and the broker's login frame. Or they only repeat our own messages.
const QUIET: [(&str, LevelFilter); 10] = [
    ("actix_http", LevelFilter::Info),
    ("actix_server", LevelFilter::Warn),
    ("amq_protocol", LevelFilter::Info),
    ("h2", LevelFilter::Info),
    ("hyper", LevelFilter::Info),
    ("hyper_util", LevelFilter::Info),
    // Logs a returned message in full, and logs an error when a user may not declare what belongs to another one.
    ("lapin", LevelFilter::Off),
    ("reqwest", LevelFilter::Info),
    ("rustls", LevelFilter::Info),
    ("tracing", LevelFilter::Warn),
];

/// Installs the logger of the process. A second call has no effect.
pub fn init() {
    #[expect(
        clippy::disallowed_methods,
        reason = "like RUST_LOG, read before there is a configuration that could fail and be logged"
    )]
    let json = std::env::var_os("LOG_FORMAT").is_some_and(|value| value == OsStr::new("json"));
    let format = if json { write_json } else { write_text };
    let logger = Builder::from_env(Env::default().default_filter_or("info"))
        .target(Target::Stderr)
        .format(format)
        .build();
    let most = logger.filter();
    // An error means that there is a logger already; the first one stays.
    if log::set_boxed_logger(Box::new(LevelFilterLogger(logger))).is_ok() {
        log::set_max_level(most);
    }
}

/// The logger without the finer levels of [`QUIET`], whatever `RUST_LOG` says.
struct LevelFilterLogger(Logger);

impl Log for LevelFilterLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_discreet(metadata) && self.0.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if is_discreet(record.metadata()) {
            self.0.log(record);
        }
    }

    fn flush(&self) {
        self.0.flush();
    }
}

fn is_discreet(metadata: &Metadata<'_>) -> bool {
    let library = metadata.target().split("::").next().unwrap_or_default();
    let bound = QUIET.iter().find(|(name, _)| *name == library);
    bound.is_none_or(|(_, most)| metadata.level() <= *most)
}

/// Formats a record as one line of text, without the time: `LEVEL target: message key=value …`.
///
/// Control characters are escaped, so that input of a client cannot forge a line.
pub fn text_line(record: &Record<'_>) -> String {
    let mut line = format!("{:5} {}: ", record.level(), record.target());
    escape(&mut line, &record.args().to_string());
    // The visitor below never fails.
    let _ = record.key_values().visit(&mut Text(&mut line));
    line
}

fn write_text(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let time = now().to_rfc3339_opts(SecondsFormat::Millis, true);
    writeln!(out, "{time} {}", text_line(record))
}

fn write_json(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let mut fields = Fields(serde_json::Map::new());
    let _ = record.key_values().visit(&mut fields);
    let line = serde_json::json!({
        "ts": now().to_rfc3339_opts(SecondsFormat::Micros, true),
        "level": record.level().as_str(),
        "target": record.target(),
        "msg": record.args().to_string(),
        "kv": fields.0,
    });
    writeln!(out, "{line}")
}

fn now() -> DateTime<Utc> {
    Clock::system().now()
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
    use super::{is_discreet, text_line};
    use log::{Level, Metadata, Record};

    #[test]
    fn a_library_that_logs_secrets_is_cut_to_info_and_ours_is_not() {
        let passes =
            |target, level| is_discreet(&Metadata::builder().target(target).level(level).build());
        assert!(!passes("hyper::proto", Level::Trace) && passes("hyper::proto", Level::Info));
        assert!(!passes("lapin::returned_messages", Level::Warn));
        assert!(!passes("actix_server::server", Level::Info));
        assert!(passes("notifier::chat", Level::Trace));
    }

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
