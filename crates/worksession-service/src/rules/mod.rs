//! The rules of a focus session as pure functions: time and credit, points, streaks, badges and locked fields.
//! `submit` combines them. Nothing here reads a clock or a database, so each rule can be tested by a table.

pub(crate) mod badges;
pub(crate) mod credit;
pub(crate) mod integrity;
pub(crate) mod local_day;
pub(crate) mod locked_fields;
pub(crate) mod points;
pub(crate) mod streaks;
pub(crate) mod submit;
pub(crate) mod time;
