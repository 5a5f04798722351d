//! A session as its user reads it: in lists, alone, in exports and among changes.

mod model;
mod wire;

#[cfg(test)]
pub(crate) use model::{Flags, Tags};
pub(crate) use model::{RecordRow, RecordSql};
pub(crate) use wire::SessionRecord;
