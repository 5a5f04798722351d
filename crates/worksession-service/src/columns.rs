use db_kit::DbBackend;
use diesel::expression::{Expression, Selectable};

/// The columns of a row, in the order of its fields.
pub(crate) fn columns<R: Selectable<DbBackend>>() -> R::SelectExpression {
    R::construct_selection()
}

/// Their SQL types, for a statement that is a text.
pub(crate) type SqlOf<R> = <<R as Selectable<DbBackend>>::SelectExpression as Expression>::SqlType;
