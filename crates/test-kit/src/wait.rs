use std::time::{Duration, Instant};

/// Asks `probe` again and again until it gives a value; panics, saying `what`, after `limit`.
///
/// For state of other processes or of background work that tells nobody when it is done. Where there
/// is something to await (a chat message, an answer), await that.
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
