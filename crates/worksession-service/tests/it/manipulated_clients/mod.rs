//! Attempts of manipulated clients: none earns more than the server measured. Each ends with the same check of the user's
//! earnings.

mod clocks;
mod concurrent_timers;
mod measured_user;
mod random_patterns;
mod repeated_requests;
mod request_bodies;
mod single_sessions;

use futures_util::future::LocalBoxFuture;
use serde_json::json;

use self::measured_user::{MeasuredUser, assert_refused};
use self::single_sessions::{SingleSession, singles};
use crate::service_fixture::Service;

type Scenario = for<'g> fn(&'g MeasuredUser<'g>) -> LocalBoxFuture<'g, ()>;

enum Attempt {
    /// One session, submitted as the table says.
    SingleSession(SingleSession),
    /// Other locked fields than planned: bit 0 is the category, bit 1 the duration, bit 2 the project. The second value says
    /// whether the submit names its session.
    Locked(u8, bool),
    /// A scenario of its own.
    Scenario(&'static str, Scenario),
}

impl Attempt {
    fn name(&self) -> String {
        match self {
            Self::SingleSession(single) => single.name.to_owned(),
            Self::Locked(mask, true) => format!("other locked fields {mask:03b} by name"),
            Self::Locked(mask, false) => format!("other locked fields {mask:03b} without a name"),
            Self::Scenario(name, _) => (*name).to_owned(),
        }
    }
}

fn attempts() -> Vec<Attempt> {
    let locked =
        (1..8).flat_map(|mask| [Attempt::Locked(mask, true), Attempt::Locked(mask, false)]);
    let scenarios = [
        request_bodies::SCENARIOS,
        clocks::SCENARIOS,
        concurrent_timers::SCENARIOS,
        repeated_requests::SCENARIOS,
    ]
    .concat();
    let scenarios = scenarios
        .into_iter()
        .map(|(name, play)| Attempt::Scenario(name, play));
    let singles = singles().into_iter().map(Attempt::SingleSession);
    singles.chain(locked).chain(scenarios).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attempt_earns_more_than_the_server_measured() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let began = service.time.now();
    let attempts = attempts();
    let others = attempts
        .iter()
        .filter(|attempt| !matches!(attempt, Attempt::SingleSession(_)));
    assert!(attempts.len() >= 75, "{}", attempts.len());
    assert!(others.count() >= 50);
    for (id, attempt) in (1_000..).zip(&attempts) {
        service.clock.set(began);
        let user = MeasuredUser::new(&service, id);
        let name = attempt.name();
        // Printed with a failure.
        println!("attempt {id}: {name}");
        match attempt {
            Attempt::SingleSession(single) => single.play(&user).await,
            Attempt::Locked(mask, named) => change_locked(&user, *mask, *named).await,
            Attempt::Scenario(_, play) => play(&user).await,
        }
        user.check_earnings(&name).await;
    }
    service.stop().await;
}

/// Tries three times with other locked fields, and then submits honestly.
async fn change_locked(user: &MeasuredUser<'_>, mask: u8, named: bool) {
    let project = user.caller.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "project_id": project});
    let started = user.try_start("/api/clientb_timer_start", plan).await;
    let started = started.expect(201).json();
    user.pass(25);
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
    let error = format!("Locked fields differ from the plan: {}", names.join(", "));
    for _ in 0..3 {
        assert_refused(user.submit_with(&started, &fields).await, 422, &error);
        assert_eq!(user.statuses(), ["running"]);
    }
    let info = "locked_mismatch:info";
    let flags = [info, info, "locked_mismatch:suspect"];
    assert_eq!(user.flags(&started), flags);
    user.pass_seconds(1);
    assert_eq!(user.credited(&started, &json!({})).await, 25);
    assert_eq!(user.flags(&started), flags);
}
