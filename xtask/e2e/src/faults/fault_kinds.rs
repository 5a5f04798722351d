//! The kinds of faults: what each breaks, for how long, and how it is repaired.

use super::chat::ChatFault;
use super::environment::{FaultEnvironment, ProductPart};
use super::load::Load;
use super::mail::MailFault;
use super::markers::{GONE, HEALTHY};
use super::seeded_random::SeededRandom;
use super::tcp_proxy::{TcpProxy, Way};
use std::sync::atomic::Ordering;
use std::time::Duration;
use xtask_fixtures::lock;
use xtask_fixtures::servers::{PrivateRabbit, Shutdown};
use xtask_kit::cmd::{Result, came_true, nap};

/// A component that only one fault at a time may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Component {
    Process(ProductPart),
    /// The broker with the connections to it: while it is down they carry nothing that could be lost.
    Broker,
    Database,
    LinesToDatabase,
    Chat,
    GoneChat,
    Mail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Kill(ProductPart),
    KillBoth,
    BrokerKilled,
    BrokerStopped,
    BrokerCut,
    BrokerStalled,
    BrokerHalfOpen,
    BrokerAlarmed,
    DatabaseRestarted,
    DatabaseCrashed,
    DatabaseAway,
    DatabaseCut,
    DatabaseStalled,
    ChatThrottles,
    ChatFails,
    ChatHangs,
    ChatHangsUp,
    ChatCutsAnswer,
    ChatGone,
    MailRefuses,
    MailHangs,
    MailHangsUp,
    MailCutsAnswer,
}

/// The kinds in the order of the table, each with its name and the components that no other fault may break meanwhile.
#[rustfmt::skip]
const KINDS: [(Kind, &str, &[Component]); 25] = [
    (Kind::Kill(ProductPart::Identity), "identity-service killed", &[Component::Process(ProductPart::Identity)]),
    (Kind::Kill(ProductPart::Worksession), "worksession-service killed", &[Component::Process(ProductPart::Worksession)]),
    (Kind::Kill(ProductPart::Notifier), "notifier killed", &[Component::Process(ProductPart::Notifier)]),
    (
        Kind::KillBoth,
        "notifier and worksession-service killed",
        &[Component::Process(ProductPart::Worksession), Component::Process(ProductPart::Notifier)],
    ),
    (Kind::BrokerKilled, "RabbitMQ killed", &[Component::Broker]),
    (Kind::BrokerStopped, "RabbitMQ stopped", &[Component::Broker]),
    (Kind::BrokerCut, "connections to RabbitMQ cut", &[Component::Broker]),
    (Kind::BrokerStalled, "connections to RabbitMQ stalled one way", &[Component::Broker]),
    (Kind::BrokerHalfOpen, "connections to RabbitMQ half-open", &[Component::Broker]),
    (Kind::BrokerAlarmed, "RabbitMQ short of memory", &[Component::Broker]),
    (Kind::DatabaseRestarted, "PostgreSQL restarted (fast)", &[Component::Database]),
    (Kind::DatabaseCrashed, "PostgreSQL restarted (immediate)", &[Component::Database]),
    (Kind::DatabaseAway, "PostgreSQL away for longer than leases", &[Component::Database]),
    (Kind::DatabaseCut, "connections to PostgreSQL cut", &[Component::LinesToDatabase]),
    (Kind::DatabaseStalled, "connections to PostgreSQL stalled one way", &[Component::LinesToDatabase]),
    (Kind::ChatThrottles, "chat answers 429 with Retry-After", &[Component::Chat]),
    (Kind::ChatFails, "chat answers 500", &[Component::Chat]),
    (Kind::ChatHangs, "chat hangs", &[Component::Chat]),
    (Kind::ChatHangsUp, "chat hangs up", &[Component::Chat]),
    (Kind::ChatCutsAnswer, "chat shows and cuts its answer", &[Component::Chat]),
    (Kind::ChatGone, "chat answers 404, then a new hook", &[Component::GoneChat]),
    (Kind::MailRefuses, "mail server answers 4xx", &[Component::Mail]),
    (Kind::MailHangs, "mail server hangs", &[Component::Mail]),
    (Kind::MailHangsUp, "mail server hangs up", &[Component::Mail]),
    (Kind::MailCutsAnswer, "mail server takes and cuts its answer", &[Component::Mail]),
];

impl Kind {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        KINDS.into_iter().map(|(kind, ..)| kind)
    }

    pub(super) fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the components that no other fault may break meanwhile.
    pub(super) fn breaks(self) -> &'static [Component] {
        self.row().2
    }

    fn row(self) -> (Self, &'static str, &'static [Component]) {
        let row = KINDS.into_iter().find(|(kind, ..)| *kind == self);
        row.unwrap_or((self, "", &[]))
    }

    /// Whether the kind occurs in this round.
    pub(super) fn is_in_round(self, round: usize) -> bool {
        match self {
            // The response is cut after the message is shown: each time makes a duplicate, and duplicates must be rare.
            Self::ChatCutsAnswer | Self::MailCutsAnswer => round.is_multiple_of(4),
            // A broker starts slowly: with both in each round it would hardly ever run.
            Self::BrokerKilled => round.is_multiple_of(2),
            Self::BrokerStopped => !round.is_multiple_of(2),
            // Messages that the chat has answered and no row records yet are sent again: each kill costs some duplicates,
            // however many messages lie between two kills.
            Self::Kill(ProductPart::Notifier) => round.is_multiple_of(2),
            Self::KillBoth => !round.is_multiple_of(2),
            // No session starts for that long.
            Self::DatabaseAway => round % 4 == 1,
            _ => true,
        }
    }

    /// Whether the fault may keep the notifier from recording what it has sent.
    pub(super) fn troubles_notes(self) -> bool {
        let database = [Component::Database, Component::LinesToDatabase];
        self.breaks().iter().any(|part| database.contains(part))
    }

    /// Whether the fault kills the notifier.
    pub(super) fn kills_notifier(self) -> bool {
        matches!(self, Self::Kill(ProductPart::Notifier) | Self::KillBoth)
    }
}

/// What a fault acts on.
pub(super) struct FaultScene<'a> {
    pub(super) env: &'a FaultEnvironment,
    pub(super) load: &'a Load<'a>,
}

/// What was observed of a fault, apart from its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FaultObservation {
    /// Whether the removed hook was shown as disabled, with the reason.
    pub(super) was_off: bool,
}

impl FaultScene<'_> {
    /// Waits up to 30 seconds until a chat shows something new. Before that, the same fault would find no activity that it
    /// could break.
    pub(super) fn until_told(&self) -> Result {
        let before = self.env.chat.shown();
        came_true(Duration::from_secs(30), Duration::from_millis(50), || {
            Ok(self.env.chat.shown() > before)
        })
        .map(drop)
    }

    /// Breaks something, waits, and repairs it.
    pub(super) fn play(&self, kind: Kind, dice: &mut SeededRandom) -> Result<FaultObservation> {
        let env = self.env;
        let to_broker = |part| Ok(&env.member(part)?.to_broker);
        let to_database = |part| Ok(&env.member(part)?.to_database);
        let restart = |shutdown, pause| lock(&env.postgres).restart(shutdown, pause);
        match kind {
            Kind::Kill(part) => self.kill(&[part], dice)?,
            Kind::KillBoth => {
                self.kill(&[ProductPart::Notifier, ProductPart::Worksession], dice)?
            }
            Kind::BrokerKilled | Kind::BrokerStopped => {
                let mut rabbit = lock(&env.rabbit);
                match kind {
                    Kind::BrokerKilled => rabbit.kill(),
                    _ => rabbit.stop(),
                }
                nap(dice.millis(100, 2_000))?;
                start(&mut rabbit)?;
            }
            Kind::BrokerCut => self.cut(&all(to_broker)?, dice)?,
            Kind::BrokerStalled => self.stall(&one(dice, to_broker)?, dice)?,
            Kind::BrokerHalfOpen => {
                for line in one(dice, to_broker)? {
                    line.lose();
                }
            }
            Kind::BrokerAlarmed => {
                let rabbit = lock(&env.rabbit);
                rabbit.set_memory_alarm(true)?;
                nap(dice.millis(0, 3_000))?;
                rabbit.set_memory_alarm(false)?;
            }
            Kind::DatabaseRestarted => restart(Shutdown::Fast, dice.millis(0, 1_500))?,
            Kind::DatabaseCrashed => restart(Shutdown::Immediate, dice.millis(0, 1_500))?,
            Kind::DatabaseAway => restart(Shutdown::Fast, dice.millis(33_000, 40_000))?,
            Kind::DatabaseCut => {
                let lines = if dice.one_in(2) {
                    all(to_database)?
                } else {
                    one(dice, to_database)?
                };
                self.cut(&lines, dice)?;
            }
            Kind::DatabaseStalled => self.stall(&one(dice, to_database)?, dice)?,
            Kind::ChatThrottles => {
                let seconds = if dice.one_in(2) { 1 } else { 2 };
                self.chat(ChatFault::Throttling(seconds), dice)?;
            }
            Kind::ChatFails => self.chat(ChatFault::Failing, dice)?,
            Kind::ChatHangs => self.chat(ChatFault::Hanging, dice)?,
            Kind::ChatHangsUp => self.chat(ChatFault::HangingUp, dice)?,
            Kind::ChatCutsAnswer => {
                let mood = if dice.one_in(2) {
                    ChatFault::CuttingBeforeAnswer
                } else {
                    ChatFault::CuttingInAnswer
                };
                // It repairs itself after one call.
                env.chat.set(dice.below(HEALTHY), mood);
            }
            Kind::ChatGone => return self.lose_hook(dice),
            Kind::MailRefuses => {
                let mood = match dice.below(3) {
                    0 => MailFault::Closed,
                    1 => MailFault::RefusingSenders,
                    _ => MailFault::RefusingContent,
                };
                self.mail(mood, dice)?;
            }
            Kind::MailHangs => self.mail(MailFault::Hanging, dice)?,
            Kind::MailHangsUp => self.mail(MailFault::HangingUp, dice)?,
            Kind::MailCutsAnswer => env.mail.set(MailFault::CuttingAnswer),
        }
        Ok(FaultObservation::default())
    }

    fn kill(&self, parts: &[ProductPart], dice: &mut SeededRandom) -> Result {
        for part in parts {
            lock(&self.env.member(*part)?.service).kill();
        }
        nap(dice.millis(0, 1_000))?;
        for part in parts {
            lock(&self.env.member(*part)?.service).start()?;
        }
        Ok(())
    }

    fn cut(&self, lines: &[&TcpProxy], dice: &mut SeededRandom) -> Result {
        for line in lines {
            line.cut();
        }
        nap(dice.millis(0, 2_000))?;
        for line in lines {
            line.restore();
        }
        Ok(())
    }

    /// Stalls connections. Afterwards they resume or break, with equal probability.
    fn stall(&self, lines: &[&TcpProxy], dice: &mut SeededRandom) -> Result {
        let way = if dice.one_in(2) {
            Way::ToServer
        } else {
            Way::ToClient
        };
        for line in lines {
            line.stall(way);
        }
        nap(dice.millis(300, 4_000))?;
        let breaks = dice.one_in(2);
        for line in lines {
            if breaks {
                line.cut();
            }
            line.restore();
        }
        Ok(())
    }

    /// Changes one project's chat, or sometimes all of them.
    fn chat(&self, mood: ChatFault, dice: &mut SeededRandom) -> Result {
        let first = dice.below(HEALTHY);
        let projects = if dice.one_in(3) {
            0..HEALTHY
        } else {
            first..first + 1
        };
        for project in projects.clone() {
            self.env.chat.set(project, mood);
        }
        nap(dice.millis(300, 2_500))?;
        for project in projects {
            self.env.chat.set(project, ChatFault::Well);
        }
        Ok(())
    }

    fn mail(&self, mood: MailFault, dice: &mut SeededRandom) -> Result {
        self.env.mail.set(mood);
        nap(dice.millis(300, 3_000))?;
        self.env.mail.set(MailFault::Well);
        Ok(())
    }

    /// Removes the hook until it is shown as off, or for 20 s if another fault prevents that. Then its owner sets a new one.
    fn lose_hook(&self, dice: &mut SeededRandom) -> Result<FaultObservation> {
        let revision = self.load.revision.load(Ordering::SeqCst);
        self.env.chat.remove_hook(GONE, revision);
        let was_off = came_true(Duration::from_secs(20), Duration::from_millis(200), || {
            Ok(self.load.is_off())
        })?;
        nap(dice.millis(0, 1_500))?;
        self.load.new_hook()?;
        Ok(FaultObservation { was_off })
    }
}

/// Starts the broker as a supervisor does: remains of the previous process may block its node name for a moment.
fn start(rabbit: &mut PrivateRabbit) -> Result {
    for _ in 0..2 {
        if rabbit.resume().is_ok() {
            return Ok(());
        }
        rabbit.kill();
        nap(Duration::from_secs(1))?;
    }
    rabbit.resume()
}

fn all<'a>(line: impl Fn(ProductPart) -> Result<&'a TcpProxy>) -> Result<Vec<&'a TcpProxy>> {
    ProductPart::ALL.into_iter().map(line).collect()
}

fn one<'a>(
    dice: &mut SeededRandom,
    line: impl Fn(ProductPart) -> Result<&'a TcpProxy>,
) -> Result<Vec<&'a TcpProxy>> {
    let parts = ProductPart::ALL;
    let part = parts.get(dice.below(parts.len())).copied();
    Ok(vec![line(part.unwrap_or(ProductPart::Notifier))?])
}

#[cfg(test)]
mod tests {
    use super::KINDS;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_a_name_of_its_own_and_breaks_something() {
        let names: BTreeSet<_> = KINDS.iter().map(|(_, name, _)| name).collect();
        assert_eq!(names.len(), KINDS.len());
        assert!(KINDS.iter().all(|(.., breaks)| !breaks.is_empty()));
    }
}
