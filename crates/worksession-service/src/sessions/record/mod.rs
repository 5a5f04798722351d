//! A session as its user reads it, wherever one is shown: in lists, alone, in an export, among changes.

mod model;
mod wire;

#[cfg(test)]
pub(crate) use model::{Flags, Tags};
pub(crate) use model::{RecordRow, RecordSql};
pub(crate) use wire::SessionRecord;
