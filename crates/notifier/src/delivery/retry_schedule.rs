use std::time::Duration;

/// The waits between the attempts of one message, in seconds. The last one repeats until the message expires.
const MESSAGE_WAITS: [u64; 8] = [2, 10, 30, 120, 300, 900, 1_800, 3_600];

/// The waits before a failing destination or mail server is called again, in seconds. They are short, so that
/// messages flow soon after it is back.
const DESTINATION_WAITS: [u64; 6] = [2, 5, 10, 20, 30, 60];

/// The waits between the attempts of one webhook call, in seconds, as Standard Webhooks proposes: a little over three
/// days together.
const CALL_WAITS: [u64; 9] = [
    5,
    5 * 60,
    30 * 60,
    2 * 3_600,
    5 * 3_600,
    10 * 3_600,
    14 * 3_600,
    20 * 3_600,
    24 * 3_600,
];

/// Returns the wait after this number of attempts of one webhook call; none after the last one.
pub(crate) fn call_wait(tries: i64) -> Option<Duration> {
    let index = usize::try_from(tries.max(1) - 1).ok()?;
    CALL_WAITS.get(index).copied().map(Duration::from_secs)
}

/// Returns the wait after this number of attempts of one message.
pub(crate) fn message_wait(attempts: i64) -> Duration {
    step(&MESSAGE_WAITS, attempts)
}

/// Returns the wait after this number of consecutive failures of a destination or mail server.
pub(crate) fn destination_wait(failures: i64) -> Duration {
    step(&DESTINATION_WAITS, failures)
}

fn step(waits: &[u64], count: i64) -> Duration {
    let index = usize::try_from(count.max(1) - 1).unwrap_or(usize::MAX);
    let wait = waits.get(index).or(waits.last());
    Duration::from_secs(wait.copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_maximum() {
        let seconds: Vec<u64> = [i64::MIN, 0, 1, 2, 8, 9, i64::MAX]
            .map(|n| message_wait(n).as_secs())
            .into();
        assert_eq!(seconds, [2, 2, 2, 10, 3_600, 3_600, 3_600]);
        assert_eq!(destination_wait(i64::MAX).as_secs(), 60);
    }

    #[test]
    fn a_webhook_call_is_tried_ten_times_in_three_days() {
        assert_eq!(call_wait(1), Some(Duration::from_secs(5)));
        assert_eq!(call_wait(9), Some(Duration::from_secs(24 * 3_600)));
        assert_eq!([10, i64::MAX].map(call_wait), [None, None]);
        let hours = CALL_WAITS.iter().sum::<u64>() / 3_600;
        assert!((72..80).contains(&hours), "{hours}");
    }
}
