//! The kinds of faults: what each breaks, for how long, and how it is mended.

use super::dice::Dice;
use super::line::{Line, Way};
use super::load::Load;
use super::marks::{GONE, HEALTHY};
use super::stand::{Part, Stand};
use super::{chat, mail};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use xtask_kit::cmd::{Result, nap};
use xtask_stand::lock;
use xtask_stand::servers::{PrivateRabbit, Shutdown};

/// What only one fault at a time may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Component {
    Process(Part),
    /// With the lines to it: while it is away they carry nothing that could be lost.
    Broker,
    Database,
    LinesToDatabase,
    Chat,
    GoneChat,
    Mail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Kill(Part),
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

impl Kind {
    /// In the order of the table.
    pub(super) const ALL: [Self; 25] = [
        Self::Kill(Part::Identity),
        Self::Kill(Part::Worksession),
        Self::Kill(Part::Notifier),
        Self::KillBoth,
        Self::BrokerKilled,
        Self::BrokerStopped,
        Self::BrokerCut,
        Self::BrokerStalled,
        Self::BrokerHalfOpen,
        Self::BrokerAlarmed,
        Self::DatabaseRestarted,
        Self::DatabaseCrashed,
        Self::DatabaseAway,
        Self::DatabaseCut,
        Self::DatabaseStalled,
        Self::ChatThrottles,
        Self::ChatFails,
        Self::ChatHangs,
        Self::ChatHangsUp,
        Self::ChatCutsAnswer,
        Self::ChatGone,
        Self::MailRefuses,
        Self::MailHangs,
        Self::MailHangsUp,
        Self::MailCutsAnswer,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kill(Part::Identity) => "identity-service killed",
            Self::Kill(Part::Worksession) => "worksession-service killed",
            Self::Kill(Part::Notifier) => "notifier killed",
            Self::KillBoth => "notifier and worksession-service killed",
            Self::BrokerKilled => "RabbitMQ killed",
            Self::BrokerStopped => "RabbitMQ stopped",
            Self::BrokerCut => "connections to RabbitMQ cut",
            Self::BrokerStalled => "connections to RabbitMQ stalled one way",
            Self::BrokerHalfOpen => "connections to RabbitMQ half-open",
            Self::BrokerAlarmed => "RabbitMQ short of memory",
            Self::DatabaseRestarted => "PostgreSQL restarted (fast)",
            Self::DatabaseCrashed => "PostgreSQL restarted (immediate)",
            Self::DatabaseAway => "PostgreSQL away for longer than leases",
            Self::DatabaseCut => "connections to PostgreSQL cut",
            Self::DatabaseStalled => "connections to PostgreSQL stalled one way",
            Self::ChatThrottles => "chat answers 429 with Retry-After",
            Self::ChatFails => "chat answers 500",
            Self::ChatHangs => "chat hangs",
            Self::ChatHangsUp => "chat hangs up",
            Self::ChatCutsAnswer => "chat shows and cuts its answer",
            Self::ChatGone => "chat answers 404, then a new hook",
            Self::MailRefuses => "mail server answers 4xx",
            Self::MailHangs => "mail server hangs",
            Self::MailHangsUp => "mail server hangs up",
            Self::MailCutsAnswer => "mail server takes and cuts its answer",
        }
    }

    /// Everything that nobody else may break meanwhile.
    pub(super) fn breaks(self) -> &'static [Component] {
        match self {
            Self::Kill(Part::Identity) => &[Component::Process(Part::Identity)],
            Self::Kill(Part::Worksession) => &[Component::Process(Part::Worksession)],
            Self::Kill(Part::Notifier) => &[Component::Process(Part::Notifier)],
            Self::KillBoth => &[
                Component::Process(Part::Worksession),
                Component::Process(Part::Notifier),
            ],
            Self::BrokerKilled
            | Self::BrokerStopped
            | Self::BrokerCut
            | Self::BrokerStalled
            | Self::BrokerHalfOpen
            | Self::BrokerAlarmed => &[Component::Broker],
            Self::DatabaseRestarted | Self::DatabaseCrashed | Self::DatabaseAway => {
                &[Component::Database]
            }
            Self::DatabaseCut | Self::DatabaseStalled => &[Component::LinesToDatabase],
            Self::ChatThrottles
            | Self::ChatFails
            | Self::ChatHangs
            | Self::ChatHangsUp
            | Self::ChatCutsAnswer => &[Component::Chat],
            Self::ChatGone => &[Component::GoneChat],
            Self::MailRefuses | Self::MailHangs | Self::MailHangsUp | Self::MailCutsAnswer => {
                &[Component::Mail]
            }
        }
    }

    /// Whether it is thrown in this round of all kinds.
    pub(super) fn is_in_round(self, round: usize) -> bool {
        match self {
            // The answer is cut after the message is shown: each time makes a copy, and copies are to be rare.
            Self::ChatCutsAnswer | Self::MailCutsAnswer => round.is_multiple_of(4),
            // A broker takes long to start: with both in each round it would hardly ever be there.
            Self::BrokerKilled => round.is_multiple_of(2),
            Self::BrokerStopped => !round.is_multiple_of(2),
            // What the chat has answered and no row says yet is told again: each kill costs some copies, however
            // many messages lie between two of them.
            Self::Kill(Part::Notifier) => round.is_multiple_of(2),
            Self::KillBoth => !round.is_multiple_of(2),
            // Nobody starts anything for so long.
            Self::DatabaseAway => round % 4 == 1,
            _ => true,
        }
    }

    /// What of it may keep the notifier from writing down what it has sent.
    pub(super) fn troubles_notes(self) -> bool {
        matches!(
            self,
            Self::DatabaseRestarted
                | Self::DatabaseCrashed
                | Self::DatabaseAway
                | Self::DatabaseCut
                | Self::DatabaseStalled
        )
    }

    /// When the notifier dies of it.
    pub(super) fn kills_notifier(self) -> bool {
        matches!(self, Self::Kill(Part::Notifier) | Self::KillBoth)
    }
}

/// What a fault is done to.
pub(super) struct Scene<'a> {
    pub(super) stand: &'a Stand,
    pub(super) load: &'a Load<'a>,
}

/// What was seen of a fault beside its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The hook that went away was shown as switched off, with the reason.
    pub(super) was_off: bool,
}

impl Scene<'_> {
    /// Waits until a chat is told of something again, for a while. Before that the same fault would find
    /// nothing at work that it could break.
    pub(super) fn until_told(&self) -> Result {
        let until = Instant::now() + Duration::from_secs(30);
        let before = self.stand.chat.shown();
        while self.stand.chat.shown() == before && Instant::now() < until {
            nap(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Breaks it, waits, mends it.
    pub(super) fn play(&self, kind: Kind, dice: &mut Dice) -> Result<Seen> {
        let stand = self.stand;
        match kind {
            Kind::Kill(part) => self.kill(&[part], dice)?,
            Kind::KillBoth => self.kill(&[Part::Notifier, Part::Worksession], dice)?,
            Kind::BrokerKilled | Kind::BrokerStopped => {
                let mut rabbit = lock(&stand.rabbit);
                match kind {
                    Kind::BrokerKilled => rabbit.kill(),
                    _ => rabbit.stop(),
                }
                nap(dice.millis(100, 2_000))?;
                start(&mut rabbit)?;
            }
            Kind::BrokerCut => self.cut(&all(|part| stand.to_broker(part))?, dice)?,
            Kind::BrokerStalled => self.stall(&one(dice, |part| stand.to_broker(part))?, dice)?,
            Kind::BrokerHalfOpen => {
                for line in one(dice, |part| stand.to_broker(part))? {
                    line.lose();
                }
            }
            Kind::BrokerAlarmed => {
                let rabbit = lock(&stand.rabbit);
                rabbit.set_memory_alarm(true)?;
                nap(dice.millis(0, 3_000))?;
                rabbit.set_memory_alarm(false)?;
            }
            Kind::DatabaseRestarted => {
                lock(&stand.postgres).restart(Shutdown::Fast, dice.millis(0, 1_500))?;
            }
            Kind::DatabaseCrashed => {
                lock(&stand.postgres).restart(Shutdown::Immediate, dice.millis(0, 1_500))?;
            }
            Kind::DatabaseAway => {
                lock(&stand.postgres).restart(Shutdown::Fast, dice.millis(33_000, 40_000))?;
            }
            Kind::DatabaseCut => {
                let lines = if dice.one_in(2) {
                    all(|part| stand.to_database(part))?
                } else {
                    one(dice, |part| stand.to_database(part))?
                };
                self.cut(&lines, dice)?;
            }
            Kind::DatabaseStalled => {
                self.stall(&one(dice, |part| stand.to_database(part))?, dice)?
            }
            Kind::ChatThrottles => {
                let seconds = if dice.one_in(2) { 1 } else { 2 };
                self.chat(chat::Mood::Throttling(seconds), dice)?;
            }
            Kind::ChatFails => self.chat(chat::Mood::Failing, dice)?,
            Kind::ChatHangs => self.chat(chat::Mood::Hanging, dice)?,
            Kind::ChatHangsUp => self.chat(chat::Mood::HangingUp, dice)?,
            Kind::ChatCutsAnswer => {
                let early = dice.one_in(2);
                let mood = if early {
                    chat::Mood::CuttingBeforeAnswer
                } else {
                    chat::Mood::CuttingInAnswer
                };
                // Mends itself after one call.
                stand.chat.set(dice.below(HEALTHY), mood);
            }
            Kind::ChatGone => return self.lose_hook(dice),
            Kind::MailRefuses => {
                let mood = match dice.below(3) {
                    0 => mail::Mood::Closed,
                    1 => mail::Mood::RefusingSenders,
                    _ => mail::Mood::RefusingContent,
                };
                self.mail(mood, dice)?;
            }
            Kind::MailHangs => self.mail(mail::Mood::Hanging, dice)?,
            Kind::MailHangsUp => self.mail(mail::Mood::HangingUp, dice)?,
            Kind::MailCutsAnswer => stand.mail.set(mail::Mood::CuttingAnswer),
        }
        Ok(Seen::default())
    }

    fn kill(&self, parts: &[Part], dice: &mut Dice) -> Result {
        for part in parts {
            lock(self.stand.service(*part)?).kill();
        }
        nap(dice.millis(0, 1_000))?;
        for part in parts {
            lock(self.stand.service(*part)?).start()?;
        }
        Ok(())
    }

    fn cut(&self, lines: &[&Line], dice: &mut Dice) -> Result {
        for line in lines {
            line.cut();
        }
        nap(dice.millis(0, 2_000))?;
        for line in lines {
            line.restore();
        }
        Ok(())
    }

    /// Half of the times what stalled goes on, half of the times it breaks.
    fn stall(&self, lines: &[&Line], dice: &mut Dice) -> Result {
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

    /// Now one project's chat, now all of them.
    fn chat(&self, mood: chat::Mood, dice: &mut Dice) -> Result {
        let first = dice.below(HEALTHY);
        let projects = if dice.one_in(3) {
            0..HEALTHY
        } else {
            first..first + 1
        };
        for project in projects.clone() {
            self.stand.chat.set(project, mood);
        }
        nap(dice.millis(300, 2_500))?;
        for project in projects {
            self.stand.chat.set(project, chat::Mood::Well);
        }
        Ok(())
    }

    fn mail(&self, mood: mail::Mood, dice: &mut Dice) -> Result {
        self.stand.mail.set(mood);
        nap(dice.millis(300, 3_000))?;
        self.stand.mail.set(mail::Mood::Well);
        Ok(())
    }

    /// Until it is shown as switched off, or for a while when something else is broken too; then the owner sets a new one.
    fn lose_hook(&self, dice: &mut Dice) -> Result<Seen> {
        let revision = self.load.revision.load(Ordering::SeqCst);
        self.stand.chat.remove_hook(GONE, revision);
        let until = Instant::now() + Duration::from_secs(20);
        let mut was_off = false;
        while !was_off && Instant::now() < until {
            nap(Duration::from_millis(200))?;
            was_off = self.load.is_off();
        }
        nap(dice.millis(0, 1_500))?;
        self.load.new_hook()?;
        Ok(Seen { was_off })
    }
}

/// Starts the broker as a supervisor does: what remains of the one before may keep the next from its name for a moment.
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

fn all<'a>(line: impl Fn(Part) -> Result<&'a Line>) -> Result<Vec<&'a Line>> {
    Part::ALL.into_iter().map(line).collect()
}

fn one<'a>(dice: &mut Dice, line: impl Fn(Part) -> Result<&'a Line>) -> Result<Vec<&'a Line>> {
    let part = match dice.below(3) {
        0 => Part::Identity,
        1 => Part::Worksession,
        _ => Part::Notifier,
    };
    Ok(vec![line(part)?])
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
