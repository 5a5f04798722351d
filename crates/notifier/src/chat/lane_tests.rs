#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chrono::DateTime;
use uuid::Uuid;

use super::super::arrivals::Notice;
use super::*;

pub(in crate::chat) const PROJECT: i64 = 3;

fn at(milliseconds: i64) -> NaiveDateTime {
    let at = DateTime::from_timestamp_millis(milliseconds).unwrap();
    at.naive_utc()
}

pub(in crate::chat) fn plan(revision: i64, bytes: usize) -> Arrival {
    let notice = Notice {
        kind: Kind::Plan,
        session_id: Uuid::now_v7(),
        project_id: PROJECT,
        revision,
        skipped: None,
        payload: "x".repeat(bytes).into(),
    };
    Arrival {
        id: Uuid::now_v7(),
        request_id: None,
        word: Word::Notice(notice),
    }
}

pub(in crate::chat) fn found(turn: Option<Turn>) -> Tally {
    let mut tally = Tally::default();
    tally.turns.insert(PROJECT, turn);
    tally
}

/// A lane that has seen the hook, which may be called from then on.
fn lane(free_at: i64, ours: bool) -> Lane {
    let lane = Lane::new(Some(Broker::memory()));
    let turn = Turn {
        free_at: at(free_at),
        revision: 5,
        ours,
    };
    lane.heed(&found(Some(turn)), at(0));
    lane
}

fn holds(lane: &Lane, arrival: &Arrival) -> Option<oneshot::Receiver<()>> {
    lane.hold(arrival, at(0), ChatConfig::default())
}

fn counted(lane: &Lane) -> (usize, usize) {
    let inner = lane.inner().unwrap();
    (inner.count, inner.bytes)
}

#[test]
fn a_plan_is_held_where_its_hook_is_expected_to_take_it() {
    let seen = lane(1_999, false);
    assert!(holds(&seen, &plan(5, 1)).is_some());
    assert_eq!(seen.next_due(), Some(at(1_999)));
    let newer = "of a hook that is not here yet";
    assert!(holds(&seen, &plan(6, 1)).is_none(), "{newer}");
    assert!(holds(&lane(2_000, false), &plan(5, 1)).is_none(), "rests");
    let unknown = Lane::new(Some(Broker::memory()));
    assert!(holds(&unknown, &plan(5, 1)).is_none());
    assert!(holds(&Lane::new(None), &plan(5, 1)).is_none());
    let mut end = plan(5, 1);
    if let Word::Notice(notice) = &mut end.word {
        notice.kind = Kind::Finished;
    }
    assert!(holds(&seen, &end).is_none());
    seen.close();
    assert!(holds(&seen, &plan(5, 1)).is_none());
}

#[test]
fn a_hook_is_asked_for_unless_this_process_posts_to_it_or_another_has_it() {
    let posting = lane(0, true);
    let waiting = holds(&posting, &plan(5, 1));
    assert!(waiting.is_some() && posting.next_due().is_none());
    assert!(posting.due(at(10), 9).is_empty());
    let free = lane(0, false);
    let waiting = holds(&free, &plan(5, 1));
    assert!(waiting.is_some());
    assert_eq!(free.due(at(0), 9), BTreeSet::from([PROJECT]));
    let elsewhere = Tally {
        taken: vec![PROJECT],
        ..Tally::default()
    };
    free.heed(&elsewhere, at(0));
    assert!(free.due(at(19), 9).is_empty());
    assert_eq!(free.due(at(20), 9), BTreeSet::from([PROJECT]));
}

#[test]
fn what_is_held_is_bounded_and_counted_until_it_is_held_no_longer() {
    let lane = lane(0, false);
    let plans: Vec<Arrival> = (0..OF_A_HOOK).map(|_| plan(5, 3)).collect();
    let mut receipts: Vec<_> = plans.iter().map(|plan| holds(&lane, plan)).collect();
    assert!(receipts.iter().all(Option::is_some));
    assert!(holds(&lane, &plan(5, 3)).is_none(), "one message's worth");
    assert_eq!(counted(&lane), (20, 60));
    // A second copy waits with the first.
    let first = plans.first().unwrap();
    let ids = [first.id.to_string()];
    lane.take(PROJECT, ids.iter().map(String::as_str)).written();
    assert_eq!(receipts.remove(0).unwrap().try_recv(), Ok(()));
    assert_eq!(counted(&lane), (19, 57));
    assert!(holds(&lane, &plan(5, BYTES)).is_none(), "too much together");
    lane.heed(&found(None), at(0));
    assert_eq!(counted(&lane), (0, 0));
    assert!(
        receipts
            .into_iter()
            .all(|one| one.unwrap().try_recv().is_err())
    );
}
