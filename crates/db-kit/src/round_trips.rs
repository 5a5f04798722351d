use std::cell::Cell;
use std::future::Future;

tokio::task_local! {
    static STATEMENTS: Cell<u64>;
}

/// Does `work` and says how many statements it had run on pools, `BEGIN` and `COMMIT` among them: on PostgreSQL each is a
/// round trip. What tasks run that it spawns is not counted.
pub async fn counted<F: Future>(work: F) -> (F::Output, u64) {
    let work = async {
        let output = work.await;
        (output, STATEMENTS.with(Cell::get))
    };
    STATEMENTS.scope(Cell::new(0), work).await
}

/// Counts statements of whoever is being [`counted`].
pub(crate) fn add(statements: u64) {
    // Outside of such work nobody asks.
    let _ = STATEMENTS.try_with(|so_far| so_far.set(so_far.get() + statements));
}
