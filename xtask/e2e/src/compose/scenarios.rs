//! Actions on the running stack, and what must hold during them.

use super::stack::Stack;
use super::steady_load::{Answer, Crowd, Drive, tally};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtask_fixtures::accounts::register;
use xtask_fixtures::fake_chat::Chat;
use xtask_fixtures::http::Client;
use xtask_kit::cmd::{Result, came_true, fail, nap, wait_until};

/// Requests a second while the stack is changed.
pub(super) const RATE: usize = 200;
/// Requests a second while single containers are restarted, which need no more load.
const GENTLE: usize = 60;
const PATIENCE: Duration = Duration::from_secs(90);
const QUEUES: [&str; 8] = [
    "notify.chat",
    "notify.logouts",
    "notify.mail",
    "notify.webhooks",
    "worksession.feedback",
    "worksession.identity",
    "worksession.webhooks",
    "work.parked",
];

/// The stack, its users, and the chat that it notifies.
pub(super) struct ComposeScene<'a, 'e> {
    pub(super) stack: &'a Stack<'e>,
    pub(super) crowd: &'a Arc<Crowd>,
    pub(super) chat: &'a Chat,
}

/// Restarts one container after the other under load. Every accepted start is stored and reaches the chat.
pub(super) fn restart_each(scene: &ComposeScene<'_, '_>) -> Result<String> {
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

/// Stops the broker for a while. No request fails, and the chat receives everything afterwards.
pub(super) fn broker_away(scene: &ComposeScene<'_, '_>, time: Duration) -> Result<String> {
    let drive = scene.crowd.drive(RATE);
    scene.stack.docker(&["stop", "--time", "20"], "rabbitmq")?;
    nap(time)?;
    scene.stack.docker(&["start"], "rabbitmq")?;
    scene.stack.wait_healthy(&["rabbitmq"], PATIENCE)?;
    let all_good = flawless(drive)?;
    settle(scene)?;
    Ok(all_good)
}

/// Checks that a token revoked at one replica is rejected by the other within a second.
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
            return fail("the second replica rejects a token of the first");
        }
        Client::new(&first, &token).call("POST", "/api/auth/logout", &json!({}))?;
        let since = Instant::now();
        while asked()? != 401 {
            if since.elapsed() > Duration::from_secs(1) {
                return fail("the other replica accepts a revoked token for more than a second");
            }
            nap(Duration::from_millis(5))?;
        }
        longest = longest.max(since.elapsed());
    }
    Ok(format!("at most {} ms in 5 attempts", longest.as_millis()))
}

/// Replaces the container of each service with one of another image, one by one. No request fails.
pub(super) fn roll(scene: &ComposeScene<'_, '_>, services: &[&str]) -> Result<String> {
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

/// Kills the first of three brokers, which leads most queues. No start fails, and every message arrives.
pub(super) fn kill_broker(scene: &ComposeScene<'_, '_>) -> Result<String> {
    wait_for_members(scene.stack)?;
    let drive = scene.crowd.drive(RATE);
    nap(Duration::from_secs(3))?;
    scene.stack.docker(&["kill"], "rabbitmq")?;
    nap(Duration::from_secs(15))?;
    let told = flawless(drive)?;
    // Before the node returns.
    settle(scene)?;
    scene.stack.docker(&["start"], "rabbitmq")?;
    scene.stack.wait_healthy(&["rabbitmq"], PATIENCE)?;
    Ok(told)
}

/// Restarts the database under load. Requests meanwhile get a 503 with `Retry-After`.
pub(super) fn restart_database(scene: &ComposeScene<'_, '_>) -> Result<String> {
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
        "the database did not come back",
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
            "requests failed until {recovery:?} after the database was back"
        ));
    }
    settle(scene)?;
    Ok(format!(
        "{}; none failed later than {} ms after its return",
        tally(&answers),
        recovery.as_millis()
    ))
}

/// Waits until every accepted start is stored and has reached the chat.
pub(super) fn settle(scene: &ComposeScene<'_, '_>) -> Result {
    all_there(scene.stack, &scene.crowd.accepted())?;
    let untold = || scene.crowd.untold(scene.chat);
    let (patience, pause) = (Duration::from_secs(120), Duration::from_millis(100));
    if came_true(patience, pause, || Ok(untold() == 0))? {
        return Ok(());
    }
    let untold = untold();
    fail(format!(
        "{untold} starts did not reach the chat within two minutes"
    ))
}

/// Checks that these sessions are in the stack's database.
pub(super) fn all_there(stack: &Stack<'_>, accepted: &[(usize, String)]) -> Result {
    let rows = stack.rows("worksession", "SELECT session_id FROM sessions")?;
    let known: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    let lost = accepted
        .iter()
        .filter(|(_, session)| !known.contains(session.as_str()));
    match (lost.count(), accepted.len()) {
        (0, _) => Ok(()),
        (lost, all) => fail(format!("{lost} of {all} accepted starts are lost")),
    }
}

/// Ends the drive, and checks that all its requests succeeded.
pub(super) fn flawless(drive: Drive) -> Result<String> {
    let least = drive.least();
    let answers = drive.end()?;
    if u32::try_from(answers.len()).map_or(0.0, f64::from) < least {
        return fail(format!(
            "{} responses, expected at least {least:.0}",
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

/// Checks for responses that a restart of the only replica, or of a server behind it, does not explain.
fn excused(answers: &[Answer]) -> Result {
    let odd = |answer: &&Answer| !matches!(answer.status, None | Some(200..=299 | 503));
    match answers.iter().find(odd) {
        None => Ok(()),
        Some(answer) => fail(format!("not explained by an outage: {answer:?}")),
    }
}

/// Waits until a start is accepted again.
fn wait_until_served(scene: &ComposeScene<'_, '_>) -> Result {
    let before = scene.crowd.accepted().len();
    wait_until(
        Duration::from_secs(30),
        Duration::from_millis(50),
        "no start is accepted 30 s after the container became healthy",
        || Ok(scene.crowd.accepted().len() >= before + 3),
    )
}

/// Waits until every queue has members on all three nodes.
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
