//! What is done to the running stack, and what must hold meanwhile.

use super::people::{Answer, Crowd, Drive, tally};
use super::stack::Stack;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtask_kit::cmd::{Result, came_true, fail, nap, wait_until};
use xtask_stand::chat::Chat;
use xtask_stand::http::Client;
use xtask_stand::people::register;

/// Requests a second while something is done to the stack.
pub(super) const RATE: usize = 200;
/// While one of each is restarted, which needs no more to be seen.
const GENTLE: usize = 60;
const PATIENCE: Duration = Duration::from_secs(90);
const QUEUES: [&str; 7] = [
    "notify.chat",
    "notify.mail",
    "notify.webhooks",
    "worksession.feedback",
    "worksession.identity",
    "worksession.webhooks",
    "work.parked",
];

/// The stack, who uses it, and the chat that it tells.
pub(super) struct Scene<'a, 'e> {
    pub(super) stack: &'a Stack<'e>,
    pub(super) crowd: &'a Arc<Crowd>,
    pub(super) chat: &'a Chat,
}

/// One container after the other is restarted under load: what was accepted is there afterwards, and told.
pub(super) fn restart_each(scene: &Scene<'_, '_>) -> Result<String> {
    let drive = scene.crowd.drive(GENTLE);
    let services = [
        "notifier",
        "rabbitmq",
        "worksession-service",
        "identity-service",
        "postgres",
    ];
    for service in services {
        scene.stack.docker(&["restart", "--time", "20"], service)?;
        scene.stack.wait_healthy(&[service], PATIENCE)?;
        wait_until_served(scene)?;
    }
    let answers = drive.end()?;
    excused(&answers)?;
    settle(scene)?;
    Ok(tally(&answers))
}

/// The broker is away for a while: nobody notices but the chat, which hears everything afterwards.
pub(super) fn broker_away(scene: &Scene<'_, '_>, time: Duration) -> Result<String> {
    let drive = scene.crowd.drive(RATE);
    scene.stack.docker(&["stop", "--time", "20"], "rabbitmq")?;
    nap(time)?;
    scene.stack.docker(&["start"], "rabbitmq")?;
    scene.stack.wait_healthy(&["rabbitmq"], PATIENCE)?;
    let all_good = flawless(drive)?;
    settle(scene)?;
    Ok(all_good)
}

/// A token that one replica revoked is refused by the other within a second.
pub(super) fn revocation(stack: &Stack<'_>) -> Result<String> {
    let first = stack.address("HOLDFAST_IDENTITY_PORT")?;
    let second = stack.address("SECOND_IDENTITY_PORT")?;
    let mut longest = Duration::ZERO;
    for n in 0..5 {
        let token = register(&first, &format!("leaver-{n}"))?;
        let mut other = Client::new(&second, &token);
        let mut asked = || {
            other
                .send("GET", "/api/auth/validate", "")
                .map(|(status, _)| status)
        };
        if asked()? != 200 {
            return fail("the second replica does not know a token of the first one");
        }
        Client::new(&first, &token).call("POST", "/api/auth/logout", &json!({}))?;
        let since = Instant::now();
        while asked()? != 401 {
            if since.elapsed() > Duration::from_secs(1) {
                return fail("a revoked token is good at the other replica for more than a second");
            }
            nap(Duration::from_millis(5))?;
        }
        longest = longest.max(since.elapsed());
    }
    Ok(format!("at most {} ms in 5 tries", longest.as_millis()))
}

/// Every container of ours is replaced by one of another image, one by one, and no request fails.
pub(super) fn roll(scene: &Scene<'_, '_>, services: &[&str]) -> Result<String> {
    let drive = scene.crowd.drive(RATE);
    for service in services {
        let mut command = scene.stack.compose();
        command.args(["up", "-d", "--no-deps", service]);
        xtask_kit::cmd::output(&mut command)?;
        scene.stack.wait_healthy(&[service], PATIENCE)?;
    }
    let all_good = flawless(drive)?;
    settle(scene)?;
    Ok(all_good)
}

/// One of three brokers dies, the first one, which leads most queues: no start fails and every message comes.
pub(super) fn kill_broker(scene: &Scene<'_, '_>) -> Result<String> {
    wait_for_members(scene.stack)?;
    let drive = scene.crowd.drive(RATE);
    nap(Duration::from_secs(3))?;
    scene.stack.docker(&["kill"], "rabbitmq")?;
    nap(Duration::from_secs(15))?;
    let told = flawless(drive)?;
    // Before the node is back.
    settle(scene)?;
    scene.stack.docker(&["start"], "rabbitmq")?;
    scene.stack.wait_healthy(&["rabbitmq"], PATIENCE)?;
    Ok(told)
}

/// The database is restarted under load: whoever asks meanwhile is told to come back, and when.
pub(super) fn restart_database(scene: &Scene<'_, '_>) -> Result<String> {
    let drive = scene.crowd.drive(RATE);
    nap(Duration::from_secs(2))?;
    scene
        .stack
        .docker(&["restart", "--time", "20"], "postgres")?;
    let ready = [
        "pg_isready",
        "--quiet",
        "--host=127.0.0.1",
        "--username=postgres",
    ];
    wait_until(
        PATIENCE,
        Duration::ZERO,
        "the database does not come back",
        || Ok(scene.stack.exec("postgres", &ready).is_ok()),
    )?;
    let returned = Instant::now();
    nap(Duration::from_secs(8))?;
    let answers = drive.end()?;
    if !answers.last().is_some_and(Answer::is_good) {
        return fail("requests still fail at the end");
    }
    for answer in answers.iter().filter(|answer| !answer.is_good()) {
        if answer.status != Some(503) || !answer.has_retry_after {
            return fail(format!("not a 503 with Retry-After: {answer:?}"));
        }
    }
    let last_bad = answers.iter().rev().find(|answer| !answer.is_good());
    let recovery = last_bad.map_or(Duration::ZERO, |bad| {
        bad.at.saturating_duration_since(returned)
    });
    if recovery > Duration::from_secs(5) {
        return fail(format!(
            "requests fail {recovery:?} after the database's return"
        ));
    }
    settle(scene)?;
    Ok(format!(
        "{}; all good {} ms after its return",
        tally(&answers),
        recovery.as_millis()
    ))
}

/// Every start that was answered with yes is in the database, and the chat was told of it.
pub(super) fn settle(scene: &Scene<'_, '_>) -> Result {
    all_there(scene.stack, &scene.crowd.accepted())?;
    let untold = || scene.crowd.untold(scene.chat);
    let (patience, pause) = (Duration::from_secs(120), Duration::from_millis(100));
    if came_true(patience, pause, || Ok(untold() == 0))? {
        return Ok(());
    }
    let untold = untold();
    fail(format!(
        "the chat was not told of {untold} starts within two minutes"
    ))
}

/// These sessions are in the stack's database.
pub(super) fn all_there(stack: &Stack<'_>, accepted: &[(usize, String)]) -> Result {
    let rows = stack.rows("worksession", "SELECT session_id FROM sessions")?;
    let known: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    let lost = accepted
        .iter()
        .filter(|(_, session)| !known.contains(session.as_str()));
    match lost.count() {
        0 => Ok(()),
        lost => fail(format!(
            "{lost} of {} accepted starts are lost",
            accepted.len()
        )),
    }
}

/// All requests of the drive were answered with yes.
pub(super) fn flawless(drive: Drive) -> Result<String> {
    let least = drive.least();
    let answers = drive.end()?;
    if u32::try_from(answers.len()).map_or(0.0, f64::from) < least {
        return fail(format!(
            "{} answers, not the {least:.0} that were wanted",
            answers.len()
        ));
    }
    let bad: Vec<&Answer> = answers.iter().filter(|answer| !answer.is_good()).collect();
    match (answers.first(), bad.first(), bad.last()) {
        (Some(begun), Some(first), Some(last)) => fail(format!(
            "failed, from {:.1} s to {:.1} s: {}; the first: {first:?}",
            (first.at - begun.at).as_secs_f64(),
            (last.at - begun.at).as_secs_f64(),
            tally(bad.iter().copied()),
        )),
        _ => Ok(format!("{}, none failed", tally(&answers))),
    }
}

/// What may be said while the only replica, or what is behind it, is restarted.
fn excused(answers: &[Answer]) -> Result {
    let odd = |answer: &&Answer| !matches!(answer.status, None | Some(200..=299 | 503));
    match answers.iter().find(odd) {
        None => Ok(()),
        Some(answer) => fail(format!("no outage explains {answer:?}")),
    }
}

/// Until a start is taken again.
fn wait_until_served(scene: &Scene<'_, '_>) -> Result {
    let before = scene.crowd.accepted().len();
    wait_until(
        Duration::from_secs(30),
        Duration::from_millis(50),
        "no start is taken 30 s after the container was healthy",
        || Ok(scene.crowd.accepted().len() >= before + 3),
    )
}

/// Until every queue is on all three nodes.
fn wait_for_members(stack: &Stack<'_>) -> Result {
    let asked = ["rabbitmqctl", "-q", "list_queues", "name", "members"];
    let list = || stack.exec("rabbitmq", &asked);
    let are_whole = || {
        let listed = list()?;
        let is_whole = |queue: &&str| {
            let mut lines = listed.lines();
            lines.any(|line| line.starts_with(queue) && line.matches("rabbit@").count() == 3)
        };
        Ok(QUEUES.iter().all(is_whole))
    };
    if came_true(Duration::from_secs(120), Duration::from_secs(1), are_whole)? {
        return Ok(());
    }
    fail(format!("queues are not on three nodes: {}", list()?))
}
