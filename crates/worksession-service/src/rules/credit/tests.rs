#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
use super::*;
use crate::rules::time::parse_instant;

fn plan(planned: i32, client_seconds: i64, server_seconds: i64) -> MeasuredTimes {
    let start = parse_instant("2026-11-20T09:00:00Z").unwrap();
    MeasuredTimes {
        planned,
        started_at: start,
        stopped_at: start + TimeDelta::seconds(server_seconds),
        client_start: start,
        client_end: start + TimeDelta::seconds(client_seconds),
        previous_end: None,
        next_start: None,
    }
}

#[test]
fn the_shorter_of_both_clocks_is_credited_and_overrun_is_not() {
    use Completion::{Brief, Completed, Partial};
    let table = [
        // planned, client s, server s, completion, minutes
        (25, 1500, 1500, Completed, 25),
        (25, 1495, 1495, Completed, 25),
        (25, 1494, 1500, Partial, 24),
        (25, 1500, 1494, Partial, 24),
        (25, 86_400, 3600, Completed, 25),
        (25, 1500, 750, Partial, 12),
        (25, 1500, 749, Brief, 12),
        (8, 299, 299, Brief, 4),
        (8, 300, 300, Partial, 5),
        (4, 236, 236, Completed, 4),
        (4, 235, 235, Brief, 3),
        (5, 295, 295, Completed, 5),
        (5, 294, 295, Brief, 4),
        (25, 0, 1500, Brief, 0),
        (25, 1500, -60, Brief, 0),
        (480, 28_800, 28_800, Completed, 480),
        (480, 28_795, 28_795, Completed, 480),
        (480, 28_794, 28_795, Partial, 479),
        (1, 59, 59, Completed, 1),
        (1, 58, 58, Brief, 0),
    ];
    for (planned, client, server, completion, minutes) in table {
        let got = credit(&plan(planned, client, server));
        assert_eq!(
            got,
            Credit {
                completion,
                minutes
            },
            "{planned} min, client {client} s, server {server} s"
        );
    }
}

#[test]
fn the_tolerance_is_two_percent_of_a_short_plan() {
    for (planned, missing_ms) in [(1, 1_200), (2, 2_400), (4, 4_800), (5, 5_000), (480, 5_000)] {
        let measured = plan(planned, 30_000, 0);
        let complete = |stopped_at| {
            let stopped = MeasuredTimes {
                stopped_at,
                ..measured
            };
            credit(&stopped).completion == Completion::Completed
        };
        let last = measured.started_at + TimeDelta::minutes(planned.into())
            - TimeDelta::milliseconds(missing_ms);
        assert!(complete(last), "{planned}");
        assert!(!complete(last - TimeDelta::milliseconds(1)), "{planned}");
    }
}

#[test]
fn time_of_a_neighbouring_session_is_not_credited_again() {
    let mut measured = plan(25, 1500, 1500);
    measured.previous_end = Some(measured.started_at + TimeDelta::minutes(10));
    assert_eq!(credit(&measured).minutes, 15);
    measured.next_start = Some(measured.started_at + TimeDelta::minutes(12));
    assert_eq!(credit(&measured).minutes, 2);
    measured.next_start = Some(measured.started_at);
    assert_eq!(credit(&measured).minutes, 0);
}

#[test]
fn a_day_is_credited_with_at_most_sixteen_hours() {
    assert_eq!(within_day_cap(480, 0), 480);
    assert_eq!(within_day_cap(480, 900), 60);
    assert_eq!(within_day_cap(480, 960), 0);
    assert_eq!(within_day_cap(25, 1000), 0);
}
