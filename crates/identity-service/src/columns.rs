//! Which columns a row is read from: the row's type says so.

use db_kit::DbBackend;
use diesel::Selectable;

/// The columns of a row, in the order of its fields.
pub(crate) type Columns<R> = <R as Selectable<DbBackend>>::SelectExpression;

/// What to select, or to return, for a row of this type.
pub(crate) fn columns<R: Selectable<DbBackend>>() -> Columns<R> {
    R::construct_selection()
}
