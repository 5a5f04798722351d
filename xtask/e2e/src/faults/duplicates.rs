//! Finds messages that were shown twice, and whether the chat's calls and the faults explain them.

use super::chat::Call;
use super::fault_schedule::Fault;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long after the kill of the notifier the chat may still read a call that was sent before.
const BEFORE_KILL: Duration = Duration::from_millis(500);
/// The time within which the notifier records a response of the chat.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
/// The same while the database fails: this long after the call, or the next constant after the end of the fault if later.
const WRITTEN_IN_TROUBLE: Duration = Duration::from_secs(18);
const WRITTEN_AFTER_TROUBLE: Duration = Duration::from_secs(5);

/// A planning note that was shown more than once, by the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// The chat hung up before or during its response.
    AnswerCut,
    /// The notifier was killed between the response and its record.
    SenderKilled,
    /// Nothing explains it.
    Unexplained(usize),
}

impl Copy {
    /// Returns the note if nothing explains the duplicate.
    pub(super) fn unexplained(&self) -> Option<usize> {
        match self {
            Self::Unexplained(note) => Some(*note),
            Self::AnswerCut | Self::SenderKilled => None,
        }
    }
}

/// Returns when each note was shown, and all duplicates.
pub(super) fn count(
    calls: &[Call],
    faults: &[Fault],
) -> (BTreeMap<usize, Vec<Instant>>, Vec<Copy>) {
    let mut shown: BTreeMap<usize, Vec<&Call>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.shown) {
        for note in &call.notes {
            shown.entry(*note).or_default().push(call);
        }
    }
    let mut copies = Vec::new();
    for (note, calls) in &shown {
        // The last call is the one that counts.
        for call in calls.iter().rev().skip(1) {
            copies.push(explain(*note, call, faults));
        }
    }
    let times = |calls: Vec<&Call>| calls.into_iter().map(|call| call.came).collect();
    (
        shown
            .into_iter()
            .map(|(note, calls)| (note, times(calls)))
            .collect(),
        copies,
    )
}

fn explain(note: usize, call: &Call, faults: &[Fault]) -> Copy {
    if !call.answered {
        return Copy::AnswerCut;
    }
    let is_in_time = |fault: &Fault| {
        let troubles = faults.iter().filter(|trouble| {
            trouble.kind.troubles_notes()
                && trouble.from <= fault.from
                && trouble.until + WRITTEN_WITHIN >= call.came
        });
        let written = troubles.map(|trouble| {
            let after = trouble.until + WRITTEN_AFTER_TROUBLE;
            after.max(call.came + WRITTEN_IN_TROUBLE)
        });
        let written = written.max().unwrap_or(call.came + WRITTEN_WITHIN);
        fault.from + BEFORE_KILL >= call.came && fault.from <= written
    };
    if faults
        .iter()
        .any(|fault| fault.kind.kills_notifier() && is_in_time(fault))
    {
        Copy::SenderKilled
    } else {
        Copy::Unexplained(note)
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::ProductPart;
    use super::super::fault_kinds::{FaultObservation, Kind};
    use super::*;

    fn call(came: Instant, answered: bool) -> Call {
        Call {
            came,
            project: 0,
            notes: [7].into(),
            shown: true,
            answered,
        }
    }

    fn fault(kind: Kind, from: Instant) -> Fault {
        Fault {
            kind,
            from,
            until: from + Duration::from_secs(1),
            seen: FaultObservation::default(),
        }
    }

    #[test]
    fn a_copy_is_explained_by_what_happened_to_the_call_before_it() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let copies = |first: Call, faults: &[Fault]| count(&[first, call(at(40), true)], faults).1;
        let kill = |seconds| fault(Kind::Kill(ProductPart::Notifier), at(seconds));

        assert_eq!(count(&[call(at(10), true)], &[kill(10)]).1, []);
        assert_eq!(copies(call(at(10), false), &[]), [Copy::AnswerCut]);
        assert_eq!(copies(call(at(10), true), &[]), [Copy::Unexplained(7)]);
        assert_eq!(
            copies(call(at(10), true), &[kill(11)]),
            [Copy::SenderKilled]
        );
        for too in [9, 15] {
            assert_eq!(
                copies(call(at(10), true), &[kill(too)]),
                [Copy::Unexplained(7)]
            );
        }
        let trouble = fault(Kind::DatabaseCut, at(12));
        assert_eq!(
            copies(call(at(10), true), &[trouble, kill(15)]),
            [Copy::SenderKilled]
        );
        let other = fault(Kind::Kill(ProductPart::Identity), at(11));
        assert_eq!(copies(call(at(10), true), &[other]), [Copy::Unexplained(7)]);
    }
}
