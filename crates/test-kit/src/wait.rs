use std::time::{Duration, Instant};

/// Calls `probe` repeatedly until it returns a value; panics with `what` after `limit`.
///
/// Use it for the state of other processes, or of background work that does not report its end. Where something can be awaited (a
/// chat message, a response), await that.
pub async fn wait_until<T>(
    what: &str,
    limit: Duration,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(
            Instant::now() < deadline,
            "waited {limit:?} in vain for {what}"
        );
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}
