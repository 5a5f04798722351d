use std::time::Duration;

/// Formats a duration for people, in its two largest units.
pub(super) fn format_uptime(uptime: Duration) -> String {
    let seconds = uptime.as_secs();
    let units = [
        (seconds / 86_400, "day"),
        (seconds / 3_600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let first = units
        .iter()
        .position(|(count, _)| *count > 0)
        .unwrap_or(units.len() - 1);
    let shown = units
        .iter()
        .skip(first)
        .take(2)
        .filter(|(count, _)| *count > 0 || first == units.len() - 1);
    let texts =
        shown.map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }));
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uptime_is_shown_in_its_two_largest_units() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (61, "1 minute, 1 second"),
            (3_600, "1 hour"),
            (3_661, "1 hour, 1 minute"),
            (86_400 + 59, "1 day"),
            (3 * 86_400 + 4 * 3_600 + 5, "3 days, 4 hours"),
        ] {
            assert_eq!(format_uptime(Duration::from_secs(seconds)), text);
        }
    }
}
