//! The checks at the end of a run, through the APIs and in the databases.

use super::environment::{FaultEnvironment, ProductPart};
use super::load::{AnswerLog, Load, Start};
use super::markers::GONE;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use xtask_fixtures::fake_chat::mark;
use xtask_fixtures::http::Client;
use xtask_fixtures::lock;
use xtask_kit::cmd::{Result, nap, output};

/// How long pending work may take once everything is repaired. A message that failed often waits minutes for its next
/// attempt.
const DRAINED_WITHIN: Duration = Duration::from_secs(900);
const TELL_EVERY: Duration = Duration::from_secs(5);
/// The number of findings of one kind that are listed.
const TOLD: usize = 5;

/// The failed checks, as sentences.
#[derive(Default)]
pub(super) struct Findings(pub(super) Vec<String>);

impl Findings {
    /// Adds a sentence with the first of these findings, if there are any.
    pub(super) fn add<T: std::fmt::Display>(
        &mut self,
        what: &str,
        found: impl IntoIterator<Item = T>,
    ) {
        let found: Vec<String> = found.into_iter().map(|one| one.to_string()).collect();
        if found.is_empty() {
            return;
        }
        let told = found.iter().take(TOLD).cloned().collect::<Vec<_>>();
        self.0
            .push(format!("{what}: {} ({})", found.len(), told.join("; ")));
    }
}

/// Waits until nothing is pending, and returns how long that took, or a sentence that says what still is.
pub(super) fn drain(
    env: &FaultEnvironment,
    told: &dyn Fn(&str),
) -> Result<std::result::Result<Duration, String>> {
    let begun = Instant::now();
    let mut tell_at = begun;
    loop {
        env.must_be_alive()?;
        let mut waiting = waiting(env)?;
        if waiting.is_empty() {
            // Checked last, because it takes seconds of processor time.
            let queues = lock(&env.rabbit).queues()?;
            let full: Vec<String> = queues
                .iter()
                .filter(|(_, messages)| *messages > 0)
                .map(|(name, messages)| format!("{messages} in the queue {name}"))
                .collect();
            if full.is_empty() {
                return Ok(Ok(begun.elapsed()));
            }
            if full.iter().all(|queue| queue.ends_with("work.parked"))
                || begun.elapsed() > DRAINED_WITHIN
            {
                return Ok(Err(full.join(", ")));
            }
            waiting = full.join(", ");
            nap(Duration::from_secs(2))?;
        }
        if begun.elapsed() > DRAINED_WITHIN {
            return Ok(Err(waiting));
        }
        if Instant::now() >= tell_at {
            told(&waiting);
            tell_at += TELL_EVERY;
        }
        nap(Duration::from_millis(500))?;
    }
}

/// Describes what is pending in the databases.
fn waiting(env: &FaultEnvironment) -> Result<String> {
    let mut found = Vec::new();
    let mut ask = |part: ProductPart, what: &str, sql: &str| -> Result {
        let rows = env.rows(part, sql)?;
        let count = rows
            .first()
            .and_then(|row| row.first())
            .cloned()
            .unwrap_or_default();
        if count != "0" {
            found.push(format!("{count} {what}"));
        }
        Ok(())
    };
    for part in ProductPart::ALL {
        let what = format!("events in the outbox of {}", part.name());
        ask(
            part,
            &what,
            "SELECT count(*) FROM outbox WHERE state = 'pending'",
        )?;
    }
    for (what, medium) in [("notifications", "chat"), ("mails", "mail")] {
        let of_medium = format!("medium = '{medium}' AND settled_at IS NULL");
        let sql = format!("SELECT count(*) FROM deliveries WHERE {of_medium}");
        ask(ProductPart::Notifier, what, &sql)?;
    }
    Ok(found.join(", "))
}

/// Compares everything with the ledger.
pub(super) fn check(
    env: &FaultEnvironment,
    load: &Load<'_>,
    shown: &BTreeSet<usize>,
) -> Result<Findings> {
    let mut findings = Findings::default();
    findings.add(
        "responses that no outage explains",
        lock(&load.ledger.odd).iter(),
    );
    findings.add("calls that a chat would reject", env.chat.odd());
    let starts = lock(&load.ledger.starts).clone();
    sessions(env, &starts, &mut findings)?;
    presessions(env, load, &starts, &mut findings)?;
    notices(env, &starts, shown, &mut findings)?;
    endings(env, &load.ledger, &mut findings)?;
    minutes(env, load, &mut findings)?;
    aside(env, &mut findings)?;
    mails(env, &load.ledger, &mut findings);
    Ok(findings)
}

/// Checks that each accepted start has exactly one session, and that there are no others.
fn sessions(env: &FaultEnvironment, starts: &[Start], findings: &mut Findings) -> Result {
    let rows = env.rows(
        ProductPart::Worksession,
        "SELECT planning_note, session_id FROM sessions",
    )?;
    let mut stored: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        if let [note, session] = row.as_slice() {
            let mark = note.split(' ').next().unwrap_or_default().to_owned();
            stored.entry(mark).or_default().push(session.clone());
        }
    }
    let several = stored.iter().filter(|(_, sessions)| sessions.len() > 1);
    findings.add(
        "starts with more than one session",
        several.map(|(mark, _)| mark),
    );
    let lost = starts.iter().filter(|start| {
        stored
            .get(&mark(start.number))
            .is_none_or(|sessions| !sessions.contains(&start.session))
    });
    findings.add(
        "accepted starts without their session",
        lost.map(|start| mark(start.number)),
    );
    let known: BTreeSet<String> = starts.iter().map(|start| mark(start.number)).collect();
    let foreign = stored.keys().filter(|mark| !known.contains(*mark));
    findings.add("sessions without an accepted start", foreign);
    Ok(())
}

/// Checks that each session can be read by the user who started it.
fn presessions(
    env: &FaultEnvironment,
    load: &Load<'_>,
    starts: &[Start],
    findings: &mut Findings,
) -> Result {
    let address = env.address(ProductPart::Worksession)?;
    let mut missing = Vec::new();
    for (index, person) in load.people.iter().enumerate() {
        let mut client = Client::new(address, &person.token);
        for start in starts.iter().filter(|start| start.person == index) {
            let path = format!("/api/get_presession/{}", start.session);
            let (status, text) = client.send("GET", &path, "")?;
            if status != 200 || !text.contains(&mark(start.number)) {
                missing.push(format!("{}: {status}", mark(start.number)));
            }
        }
    }
    findings.add("sessions that cannot be read", missing);
    Ok(())
}

/// Checks that every start was shown, or, on the project whose hook disappears, that its outcome says why not. The outcome
/// that the team sees must agree.
fn notices(
    env: &FaultEnvironment,
    starts: &[Start],
    shown: &BTreeSet<usize>,
    findings: &mut Findings,
) -> Result {
    let rows = env.rows(
        ProductPart::Worksession,
        "SELECT session_id, outcome, coalesce(reason, '') FROM notifications",
    )?;
    let outcomes: BTreeMap<String, (String, String)> = rows
        .into_iter()
        .filter_map(|row| match row.as_slice() {
            [session, outcome, reason] => {
                Some((session.clone(), (outcome.clone(), reason.clone())))
            }
            _ => None,
        })
        .collect();
    let (mut lost, mut untold, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for start in starts {
        let is_shown = shown.contains(&start.number);
        let name = format!("{} of project {}", mark(start.number), start.project);
        match outcomes.get(&start.session) {
            None => untold.push(name.clone()),
            Some((outcome, reason)) => {
                let fits = if is_shown {
                    // The message was shown, and a repetition was answered that the hook is gone.
                    outcome == "delivered" || start.project == GONE
                } else {
                    start.project == GONE && outcome != "delivered" && !reason.is_empty()
                };
                if !fits {
                    wrong.push(format!("{name}: {outcome} {reason}"));
                }
            }
        }
        if !is_shown && start.project != GONE {
            lost.push(name);
        }
    }
    findings.add("LOST: accepted starts that reached no chat", lost);
    findings.add("starts without an outcome of their notification", untold);
    findings.add("notifications with a wrong outcome", wrong);
    Ok(())
}

/// Checks that the chats of healthy projects were told once of each session's end. Such a message contains no note, so the
/// notifier's own rows are counted.
fn endings(env: &FaultEnvironment, ledger: &AnswerLog, findings: &mut Findings) -> Result {
    let told = env.rows(
        ProductPart::Notifier,
        "SELECT session_id FROM deliveries WHERE kind = 'finished' AND state = 'delivered'",
    )?;
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for session in told.into_iter().flatten() {
        *times.entry(session).or_default() += 1;
    }
    let submits = lock(&ledger.submits);
    let wrong = submits
        .iter()
        .filter(|(session, project)| *project != GONE && times.get(session) != Some(&1));
    findings.add(
        "LOST: submits that reached no chat",
        wrong.map(|(session, _)| session),
    );
    Ok(())
}

/// Checks that the rollups contain the credited minutes, and equal what is computed from the sessions.
fn minutes(env: &FaultEnvironment, load: &Load<'_>, findings: &mut Findings) -> Result {
    let ledger = lock(&load.ledger.minutes).clone();
    let mut differing = Vec::new();
    for (index, person) in load.people.iter().enumerate() {
        let mut client = Client::new(env.address(ProductPart::Worksession)?, &person.token);
        let data = client.json("/api/user/data")?;
        let total = data
            .pointer("/session_stats/total_minutes")
            .and_then(Value::as_i64);
        let credited = ledger.get(&index).copied().unwrap_or(0);
        if total != Some(credited) {
            differing.push(format!(
                "user {index}: credited {credited}, total {total:?}"
            ));
        }
    }
    findings.add("users whose minutes are not in their totals", differing);
    let mut rebuild = env.command(
        ProductPart::Worksession,
        &["admin", "rebuild-rollups", "--dry-run", "--json"],
    )?;
    // Exit code 3 means that something differs.
    if let Err(error) = output(&mut rebuild) {
        findings.add("rollups differ from the sessions", [error]);
    }
    if ledger.values().sum::<i64>() == 0 {
        findings.add("nothing was checked", ["no minute was credited"]);
    }
    Ok(())
}

/// Checks that no event was unroutable.
fn aside(env: &FaultEnvironment, findings: &mut Findings) -> Result {
    for part in ProductPart::ALL {
        let rows = env.rows(
            part,
            "SELECT routing_key FROM outbox WHERE state <> 'pending'",
        )?;
        findings.add(
            &format!("unroutable events of {}", part.name()),
            rows.concat(),
        );
    }
    Ok(())
}

/// Checks that every address has received its mail.
fn mails(env: &FaultEnvironment, ledger: &AnswerLog, findings: &mut Findings) {
    let taken = env.mail.taken();
    let asked = lock(&ledger.mails);
    let lost = asked.iter().filter(|address| !taken.contains_key(*address));
    findings.add("LOST: mails that never arrived", lost);
}
