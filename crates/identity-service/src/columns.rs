//! Selects the columns of a row by the row's type.

use db_kit::DbBackend;
use diesel::Selectable;

/// The columns of a row, in the order of its fields.
pub(crate) type Columns<R> = <R as Selectable<DbBackend>>::SelectExpression;

/// Returns the columns to select, or to return, for a row of this type.
pub(crate) fn columns<R: Selectable<DbBackend>>() -> Columns<R> {
    R::construct_selection()
}
