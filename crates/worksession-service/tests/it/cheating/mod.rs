//! None of these attempts earns more than the server measured. A table lists them with their expected results; the same
//! check by a ledger of its own ends each.

mod bodies;
mod clocks;
mod devices;
mod game;
mod patterns;
mod replays;
mod singles;

use futures_util::future::LocalBoxFuture;
use serde_json::json;

use self::game::Game;
use self::singles::{Single, singles};
use crate::identity::Service;

type Play = for<'g> fn(&'g Game<'g>) -> LocalBoxFuture<'g, ()>;

enum Attempt {
    /// One session, submitted as the table says.
    Single(Single),
    /// Other locked fields than planned: bit 0 is the category, bit 1 the duration, bit 2 the project. The second value says
    /// whether the submit names its session.
    Locked(u8, bool),
    /// A scenario of its own.
    Play(&'static str, Play),
}

impl Attempt {
    fn name(&self) -> String {
        match self {
            Self::Single(single) => single.name.to_owned(),
            Self::Locked(mask, true) => format!("other locked fields {mask:03b} by name"),
            Self::Locked(mask, false) => format!("other locked fields {mask:03b} without a name"),
            Self::Play(name, _) => (*name).to_owned(),
        }
    }
}

fn attempts() -> Vec<Attempt> {
    let locked =
        (1..8).flat_map(|mask| [Attempt::Locked(mask, true), Attempt::Locked(mask, false)]);
    let plays = [bodies::PLAYS, clocks::PLAYS, devices::PLAYS, replays::PLAYS].concat();
    let plays = plays
        .into_iter()
        .map(|(name, play)| Attempt::Play(name, play));
    let singles = singles().into_iter().map(Attempt::Single);
    singles.chain(locked).chain(plays).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attempt_earns_more_than_the_server_measured() {
    let (service, _stub) = Service::with_stub(0).await;
    let began = service.time.now();
    let attempts = attempts();
    let others = attempts
        .iter()
        .filter(|attempt| !matches!(attempt, Attempt::Single(_)));
    assert!(attempts.len() >= 75, "{}", attempts.len());
    assert!(others.count() >= 50);
    for (user, attempt) in (1_000..).zip(&attempts) {
        service.clock.set(began);
        let game = Game::new(&service, user);
        let name = attempt.name();
        // Printed with a failure.
        println!("attempt {user}: {name}");
        match attempt {
            Attempt::Single(single) => single.play(&game).await,
            Attempt::Locked(mask, named) => change_locked(&game, *mask, *named).await,
            Attempt::Play(_, play) => play(&game).await,
        }
        game.check(&name).await;
    }
    service.stop().await;
}

/// Tries three times with other locked fields, and then submits honestly.
async fn change_locked(game: &Game<'_>, mask: u8, named: bool) {
    let project = game.who.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "project_id": project});
    let started = game.try_start("/api/clientb_timer_start", plan).await;
    let started = started.expect(201).json();
    game.pass(25);
    let mut fields = json!({});
    let mut names = Vec::new();
    for (bit, name, value) in [
        (1, "category", json!("meeting")),
        (2, "duration", json!(480)),
        (4, "project_id", json!("none")),
    ] {
        if mask & bit != 0 {
            fields[name] = value;
            names.push(name);
        }
    }
    if !named {
        fields["session_id"] = json!(null);
    }
    let told = format!("Locked fields differ from the plan: {}", names.join(", "));
    for _ in 0..3 {
        Game::refused(game.submit_with(&started, &fields).await, 422, &told);
        assert_eq!(game.statuses(), ["running"]);
    }
    let info = "locked_mismatch:info";
    let signs = [info, info, "locked_mismatch:suspect"];
    assert_eq!(game.flags(&started), signs);
    game.pass_seconds(1);
    assert_eq!(game.credited(&started, &json!({})).await, 25);
    assert_eq!(game.flags(&started), signs);
}
