//! Commands on the whole data of a standalone: backup, restore, and the move to PostgreSQL.
//!
//! They know no table of any part. What to copy is read from the databases' own catalogs, so that a table of a later migration
//! cannot be forgotten.

mod backup;
mod database;
mod error;
mod files;
mod move_to_postgres;
mod parts;
mod restore;

pub(crate) use backup::{BackupArgs, run as backup};
pub(crate) use move_to_postgres::{MoveArgs, run as move_to_postgres};
pub(crate) use restore::{RestoreArgs, run as restore};
