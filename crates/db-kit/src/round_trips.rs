use std::cell::Cell;
use std::future::Future;

tokio::task_local! {
    static STATEMENTS: Cell<u64>;
}

/// Runs `work`, and returns its output with the number of statements that it executed on pools, including `BEGIN` and `COMMIT`.
/// On PostgreSQL each one is a round trip. Tasks that it spawns are not counted.
pub async fn counted<F: Future>(work: F) -> (F::Output, u64) {
    let work = async {
        let output = work.await;
        (output, STATEMENTS.with(Cell::get))
    };
    STATEMENTS.scope(Cell::new(0), work).await
}

/// Adds statements to the count of [`counted`].
pub(crate) fn add(statements: u64) {
    // Without an enclosing `counted`, there is no count.
    let _ = STATEMENTS.try_with(|so_far| so_far.set(so_far.get() + statements));
}
