//! The texts that people read: pages, mails and chat messages. They stand in message files in the format of Project Fluent
//! (<https://projectfluent.org>), one folder per language. The sentences of API errors are part of the contract and stand in
//! the code.

mod argument;
mod date;
mod language;

use std::fmt;

use fluent_bundle::{FluentArgs, FluentValue};

pub use argument::Argument;
pub use date::{date, month, short_date, utc_time};

/// A text, formatted when it is shown. It is plain text: a template escapes it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Text {
    id: &'static str,
    arguments: Vec<(&'static str, FluentValue<'static>)>,
}

/// Returns the message with this id, such as `today-title`. An unknown id is shown as it is; a test finds it.
pub fn t(id: &'static str) -> Text {
    Text {
        id,
        arguments: Vec::new(),
    }
}

impl Text {
    /// Fills in a placeholder, such as `{ $team }`.
    pub fn with(mut self, name: &'static str, value: impl Argument) -> Self {
        self.arguments.push((name, value.to_value()));
        self
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: FluentArgs<'_> = self.arguments.iter().cloned().collect();
        f.write_str(&language::ENGLISH.format(self.id, &arguments))
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.to_string()
    }
}
