use db_kit::DbBackend;
use diesel::expression::{Expression, Selectable};

/// Returns the columns of a row, in the order of its fields.
pub(crate) fn columns<R: Selectable<DbBackend>>() -> R::SelectExpression {
    R::construct_selection()
}

/// The SQL types of these columns, for a statement that is written as text.
pub(crate) type SqlOf<R> = <<R as Selectable<DbBackend>>::SelectExpression as Expression>::SqlType;
