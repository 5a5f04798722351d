//! Another transaction on PostgreSQL, which holds its locks until the test commits it.

use db_kit::Db;
use diesel::connection::SimpleConnection;
use test_kit::wait_until;

use crate::broker_fixture::TIMEOUT;
use crate::database;
use crate::service_fixture::Service;

/// An open transaction.
pub struct OpenTransaction(Db);

impl OpenTransaction {
    /// Begins a transaction with these statements.
    pub fn begin(service: &Service, statements: &str) -> Self {
        let mut db = service.database.pool(1).dedicated().unwrap();
        db.batch_execute(&format!("BEGIN; {statements}")).unwrap();
        Self(db)
    }

    pub fn commit(mut self) {
        self.0.batch_execute("COMMIT").unwrap();
    }
}

/// Waits until so many connections wait for a lock.
pub async fn until_lock_waits(service: &Service, count: i64) {
    let sql = "SELECT count(*) AS number FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    wait_until("a connection to wait for a lock", TIMEOUT, async || {
        (database::count(service, sql) == count).then_some(())
    })
    .await;
}
