//! Causes faults at random moments, several at once if they break different components.

use super::fault_kinds::{Component, FaultObservation, FaultScene, Kind};
use super::seeded_random::SeededRandom;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use xtask_fixtures::lock;
use xtask_kit::cmd::{Result, came_true, fail, interrupted, nap};

/// The shortest and the longest time between two faults, in milliseconds.
const GAP: (u64, u64) = (300, 2_000);
/// The starts accepted between two faults, if the machine is fast enough: a product that does nothing loses nothing.
const FEWEST_STARTS: usize = 5;
const MOST_PATIENCE: Duration = Duration::from_secs(4);

/// A fault that has been repaired.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) from: Instant,
    /// When it was repaired.
    pub(super) until: Instant,
    pub(super) seen: FaultObservation,
}

/// The kinds of faults in random order, each once a round.
struct FaultDeck {
    dice: SeededRandom,
    cards: Vec<Kind>,
    rounds: usize,
}

impl FaultDeck {
    fn new(dice: SeededRandom) -> Self {
        Self {
            dice,
            cards: Vec::new(),
            rounds: 0,
        }
    }

    /// Draws the next kind whose components are all intact.
    fn draw(&mut self, busy: &BTreeSet<Component>) -> Option<Kind> {
        if self.cards.is_empty() {
            let cards = Kind::all().filter(|kind| kind.is_in_round(self.rounds));
            self.cards = cards.collect();
            self.rounds += 1;
            self.dice.shuffle(&mut self.cards);
        }
        let is_free = |kind: &Kind| kind.breaks().iter().all(|part| !busy.contains(part));
        let place = self.cards.iter().position(is_free)?;
        Some(self.cards.remove(place))
    }
}

/// Causes `count` faults and returns them once all are repaired. `told` is called as each fault begins.
pub(super) fn play(
    scene: &FaultScene<'_>,
    count: usize,
    seed: u64,
    told: &(dyn Fn(usize, Kind) + Sync),
) -> Result<Vec<Fault>> {
    let mut deck = FaultDeck::new(SeededRandom::new(seed, 1));
    let mut gaps = SeededRandom::new(seed, 2);
    let busy = Mutex::new(BTreeSet::new());
    let played = Mutex::new(Vec::new());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| -> Result {
        for n in 0..count {
            let before = scene.load.accepted();
            nap(gaps.millis(GAP.0, GAP.1))?;
            came_true(MOST_PATIENCE, Duration::from_millis(50), || {
                Ok(scene.load.accepted() >= before + FEWEST_STARTS)
            })?;
            let kind = loop {
                if !lock(&failures).is_empty() {
                    return Ok(());
                }
                let drawn = deck.draw(&lock(&busy));
                match drawn {
                    Some(kind) => break kind,
                    None => nap(Duration::from_millis(50))?,
                }
            };
            lock(&busy).extend(kind.breaks());
            told(n + 1, kind);
            let mut dice = SeededRandom::new(seed, 10_000 + u64::try_from(n)?);
            let (busy, played, failures) = (&busy, &played, &failures);
            scope.spawn(move || {
                let from = Instant::now();
                match scene.play(kind, &mut dice) {
                    Ok(seen) => lock(played).push(Fault {
                        kind,
                        from,
                        until: Instant::now(),
                        seen,
                    }),
                    Err(error) => lock(failures).push(format!("{}: {error}", kind.name())),
                }
                if kind.breaks().contains(&Component::Broker) {
                    // This fails only if the tool is asked to end, which is checked below.
                    scene.until_told().ok();
                }
                lock(busy).retain(|part| !kind.breaks().contains(part));
            });
        }
        Ok(())
    })?;
    let failures = lock(&failures).join("; ");
    if interrupted() {
        return fail("interrupted");
    }
    if !failures.is_empty() {
        return fail(failures);
    }
    let mut played = std::mem::take(&mut *lock(&played));
    played.sort_by_key(|fault: &Fault| fault.from);
    Ok(played)
}

#[cfg(test)]
mod tests {
    use super::super::fault_kinds::Kind;
    use super::super::seeded_random::SeededRandom;
    use super::FaultDeck;
    use std::collections::BTreeSet;

    #[test]
    fn a_round_has_each_of_its_kinds_once_and_four_rounds_have_all() {
        let mut deck = FaultDeck::new(SeededRandom::new(1, 1));
        let mut all = BTreeSet::new();
        for round in 0..4 {
            let count = Kind::all().filter(|kind| kind.is_in_round(round)).count();
            let drawn: BTreeSet<Kind> = (0..count)
                .map(|_| deck.draw(&BTreeSet::new()).unwrap())
                .collect();
            assert_eq!(drawn.len(), count);
            all.extend(drawn);
        }
        assert_eq!(all.len(), Kind::all().count());
    }

    #[test]
    fn what_is_broken_is_left_alone() {
        let mut deck = FaultDeck::new(SeededRandom::new(1, 1));
        let busy: BTreeSet<_> = Kind::BrokerKilled.breaks().iter().copied().collect();
        let mut drawn = BTreeSet::new();
        while let Some(kind) = deck.draw(&busy) {
            drawn.insert(kind);
        }
        assert!(drawn.contains(&Kind::DatabaseCut));
        assert!(!drawn.contains(&Kind::BrokerCut));
    }
}
