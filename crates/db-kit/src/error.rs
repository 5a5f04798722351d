use diesel::result::{DatabaseErrorKind, Error as DieselError};
use thiserror::Error;

/// Why database work failed.
#[derive(Debug, Error)]
pub enum DbError {
    /// Every connection, or a row, was in use for as long as a caller may wait. Transient: 503.
    #[error("all database connections are in use")]
    Busy,
    /// The server is down, restarting, or closed the connection. Transient: 503.
    #[error("the database does not answer: {0}")]
    Unreachable(String),
    /// The query itself failed.
    #[error(transparent)]
    Query(DieselError),
}

impl From<DieselError> for DbError {
    fn from(error: DieselError) -> Self {
        if is_connection_lost(&error) {
            Self::Unreachable(error.to_string())
        } else if is_lock_timeout(&error) {
            Self::Busy
        } else {
            Self::Query(error)
        }
    }
}

impl DbError {
    /// Returns the error for another caller that waited for the same work: always a transient one.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Busy => Self::Busy,
            Self::Unreachable(reason) => Self::Unreachable(reason.clone()),
            Self::Query(error) => Self::Unreachable(error.to_string()),
        }
    }

    /// Whether the same work would fail again. All other errors (a full disk, a restarting server) are transient.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        use DatabaseErrorKind::{CheckViolation, NotNullViolation, UniqueViolation};
        match self {
            Self::Query(DieselError::SerializationError(_)) => true,
            Self::Query(DieselError::DatabaseError(kind, info)) => {
                matches!(kind, CheckViolation | NotNullViolation | UniqueViolation)
                    // PostgreSQL stores no NUL in a text, and has no error kind for it.
                    || info.message().contains("invalid byte sequence")
            }
            _ => false,
        }
    }
}

/// Whether the connection is unusable after this error.
pub(crate) fn is_connection_lost(error: &DieselError) -> bool {
    match error {
        DieselError::BrokenTransactionManager => true,
        DieselError::DatabaseError(
            DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand,
            _,
        ) => true,
        DieselError::DatabaseError(_, info) => {
            // libpq reports these only as text.
            let message = info.message();
            [
                "server closed the connection",
                "terminating connection",
                "connection to server",
                "no connection to the server",
                "SSL SYSCALL error",
                "the database system is",
            ]
            .iter()
            .any(|text| message.contains(text))
        }
        _ => false,
    }
}

fn is_lock_timeout(error: &DieselError) -> bool {
    matches!(error, DieselError::DatabaseError(_, info) if info.message().contains("database is locked")
        || info.message().contains("canceling statement due to statement timeout")
        || info.message().contains("deadlock detected"))
}

/// Whether the error reports a second row with the same values in these columns of the table.
///
/// PostgreSQL names the constraint, by our convention `TABLE_COL1_COL2_key`; SQLite lists only the columns.
#[must_use]
pub fn is_unique_violation(error: &DbError, table: &str, columns: &[&str]) -> bool {
    let DbError::Query(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, info)) =
        error
    else {
        return false;
    };
    match info.constraint_name() {
        Some(name) => name == format!("{table}_{}_key", columns.join("_")),
        None => {
            let listed: Vec<String> = columns
                .iter()
                .map(|column| format!("{table}.{column}"))
                .collect();
            info.message() == format!("UNIQUE constraint failed: {}", listed.join(", "))
        }
    }
}
