use diesel::prelude::*;

/// The destination is in use.
pub(crate) const ACTIVE: &str = "active";
/// There is none, or it refused us for good.
pub(crate) const OFF: &str = "off";

/// A project's chat setting as stored. The address is not among it: only the notifier keeps that.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct ChatRow {
    /// None after a DELETE.
    pub(crate) provider: Option<String>,
    pub(crate) revision: i64,
    pub(crate) status: String,
    /// Why it is off, for people.
    pub(crate) reason: Option<String>,
}
