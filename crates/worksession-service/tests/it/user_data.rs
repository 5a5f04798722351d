use std::collections::{BTreeMap, BTreeSet};

use chrono::{TimeDelta, Timelike};
use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::TestBackend;

use crate::caller::{Caller, credited, honest};
use crate::service_fixture::Service;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_user_has_the_defaults_and_zeros() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let data = service
        .api
        .get("/api/user/data")
        .bearer("user-")
        .send()
        .await
        .expect(200);
    assert_eq!(data.header("cache-control"), "no-store");
    assert_eq!(
        data.json(),
        json!({
            "userId": "7",
            "username": "ada",
            "email": "ada@placeholder.invalid",
            "timezone": "UTC",
            "points": {"total": 0.0, "today": 0.0, "this_week": 0.0, "this_month": 0.0},
            "streaks": {"current": 0, "longest": 0, "days_active_this_week": 0, "days_active_this_month": 0},
            "badges": [],
            "preferences": {
                "daily_goal": 8,
                "default_duration": 25,
                "short_break_duration": 5,
                "long_break_duration": 15,
                "notification_sound": "bell",
                "theme_preference": "system",
                "leaderboard_opt_in": false,
            },
            "session_stats": {
                "total_sessions": 0,
                "total_minutes": 0,
                "average_session_length": 0.0,
                "most_productive_hour": 0,
                "favorite_category": "",
            },
        })
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_email_is_shown_only_to_the_account_itself() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for (token, email) in [
        ("user-", "ada@placeholder.invalid"),
        ("user-sessions.read+email", ""),
    ] {
        let call = service.api.get("/api/user/data").bearer(token);
        let data = call.send().await.expect(200).json();
        assert_eq!(data["email"], email, "{token}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_data_has_error_messages_of_its_own() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let path = "/api/user/data";
    let none = service.api.get(path).send().await.expect(403).json();
    assert_eq!(none, json!({"error": "Token required"}));
    let bad = service
        .api
        .get(path)
        .bearer("bad")
        .send()
        .await
        .expect(401)
        .json();
    assert_eq!(bad, json!({"error": "Invalid or expired token"}));
    let narrow = service
        .api
        .get(path)
        .bearer("user-openid")
        .send()
        .await
        .expect(403)
        .json();
    assert_eq!(narrow, json!({"error": "Insufficient scope"}));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_data_follows_the_users_own_days_weeks_and_months() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    // Monday 23 November 2026, 09:00 UTC, is still Sunday evening in Pago Pago.
    ada.set_zone("Pacific/Pago_Pago").await;
    ada.work("writing", 60).await;
    let sunday = ada.data().await;
    assert_eq!(
        sunday["points"],
        json!({"total": 6.12, "today": 6.12, "this_week": 6.12, "this_month": 6.12})
    );
    assert_eq!(sunday["session_stats"]["most_productive_hour"], 22);
    assert_eq!(sunday["badges"], json!(["first_session", "night_owl"]));

    service.clock.advance(TimeDelta::hours(2));
    let monday = ada.data().await;
    assert_eq!(
        monday["points"],
        json!({"total": 6.12, "today": 0.0, "this_week": 0.0, "this_month": 6.12})
    );
    assert_eq!(monday["streaks"]["current"], 1);
    assert_eq!(monday["streaks"]["days_active_this_week"], 0);
    assert_eq!(monday["streaks"]["days_active_this_month"], 1);

    service.clock.advance(TimeDelta::hours(3));
    ada.work("coding", 25).await;
    ada.work("coding", 30).await;
    let data = ada.data().await;
    // 60 × 1.02, 25 × 1.04, 30 × 1.04
    assert_eq!(
        data["points"],
        json!({"total": 11.84, "today": 5.72, "this_week": 5.72, "this_month": 11.84})
    );
    assert_eq!(
        data["streaks"],
        json!({"current": 2, "longest": 2, "days_active_this_week": 1, "days_active_this_month": 2})
    );
    assert_eq!(
        data["session_stats"],
        json!({
            "total_sessions": 3,
            "total_minutes": 115,
            "average_session_length": 38.33,
            "most_productive_hour": 22,
            "favorite_category": "writing",
        })
    );
    assert_eq!(
        data["badges"],
        json!(["first_session", "night_owl", "early_bird"])
    );

    // A tie goes to the earlier hour and the first category of the alphabet.
    service.clock.advance(TimeDelta::hours(24));
    ada.work("coding", 5).await;
    let stats = ada.data().await["session_stats"].clone();
    assert_eq!(
        (&stats["most_productive_hour"], &stats["favorite_category"]),
        (&json!(4), &json!("coding"))
    );

    service.clock.advance(TimeDelta::days(8));
    let december = ada.data().await;
    assert_eq!(december["points"]["this_month"], 0.0);
    assert_eq!(december["streaks"]["current"], 0);
    assert_eq!(december["streaks"]["longest"], 2);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_week_of_sessions_is_a_streak_and_a_perfect_week() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let mut last = json!(null);
    for day in 1..=7 {
        last = ada.work("coding", 50).await;
        assert_eq!(last["streaks"]["current"], day);
        // 50 minutes: 5 points and 2 % for each day of the streak
        assert_eq!(last["points_awarded"], f64::from(500 + 10 * day) / 100.0);
        service
            .clock
            .advance(TimeDelta::hours(24) - TimeDelta::minutes(50));
    }
    assert_eq!(last["new_badges"], json!(["streak_7", "perfect_week"]));
    assert_eq!(
        ada.data().await["badges"],
        json!(["first_session", "perfect_week", "streak_7"])
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_submit_repairs_the_streak() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    ada.work("coding", 25).await;
    service.clock.advance(TimeDelta::hours(23));
    let unsubmitted = ada.start_coding().await;
    service.clock.advance(TimeDelta::hours(16));
    // The next local day. This start ended the unsubmitted session, whose 25 minutes had passed long before.
    let third = ada.work("coding", 25).await;
    assert_eq!(third["streaks"]["current"], 1);
    let body = honest(&unsubmitted, &service);
    // A submit counts until twelve hours after the planned end: now it is too late.
    assert_eq!(
        ada.submit(body).await.expect(200).json()["status"],
        "abandoned"
    );

    service.clock.advance(TimeDelta::hours(40));
    let unsubmitted = ada.start_coding().await;
    service.clock.advance(TimeDelta::hours(9));
    let fifth = ada.work("coding", 25).await;
    assert_eq!(fifth["streaks"]["current"], 1);
    let repaired = ada
        .submit(honest(&unsubmitted, &service))
        .await
        .expect(200)
        .json();
    assert_eq!(repaired["credited_minutes"], 25);
    assert_eq!(repaired["streaks"]["current"], 3);
    assert_eq!(repaired["points_awarded"], 2.6);
    service.stop().await;
}

/// Sessions of all lengths over some weeks, submitted at once, late, in any order, or never.
#[tokio::test(flavor = "multi_thread")]
async fn user_data_equals_the_sums_of_the_sessions() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let mut state: u64 = 0x5eed;
    let mut random = |below: i64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap() % below
    };
    let mut open_sessions = Vec::new();
    for _ in 0..90 {
        let plan = json!({"category": format!("c{}", random(4)), "duration": 5 + random(40)});
        open_sessions.push(ada.start(plan).await);
        service.clock.advance(TimeDelta::minutes(random(45)));
        while !open_sessions.is_empty() && random(3) > 0 {
            let index = usize::try_from(random(64)).unwrap() % open_sessions.len();
            let started = open_sessions.swap_remove(index);
            ada.submit(honest(&started, &service)).await.expect(200);
        }
        service.clock.advance(TimeDelta::minutes(random(1200)));
    }
    let data = ada.data().await;
    let sessions = credited(&service, 7);
    let sum = |keep: &dyn Fn(&crate::caller::Credited) -> bool| {
        let points: i64 = sessions.iter().filter(|s| keep(s)).map(|s| s.points).sum();
        json!(points as f64 / 100.0)
    };
    let today = service.time.now().date_naive();
    let week = today.week(chrono::Weekday::Mon);
    let month = today.format("%Y-%m").to_string();
    let in_month = |day: chrono::NaiveDate| day.format("%Y-%m").to_string() == month;
    assert!(sessions.len() > 40, "{}", sessions.len());
    assert_eq!(
        data["points"],
        json!({
            "total": sum(&|_| true),
            "today": sum(&|s| s.day == today),
            "this_week": sum(&|s| week.first_day() <= s.day && s.day <= week.last_day()),
            "this_month": sum(&|s| in_month(s.day)),
        })
    );
    let mut days = BTreeMap::<_, i32>::new();
    let (mut hours, mut categories) = (BTreeMap::<_, i32>::new(), BTreeMap::<_, i32>::new());
    for session in &sessions {
        *days.entry(session.day).or_default() += session.minutes;
        *hours.entry(session.started_at.hour()).or_default() += session.minutes;
        *categories.entry(session.category.clone()).or_default() += session.minutes;
    }
    let counted: BTreeSet<_> = days
        .iter()
        .filter(|day| *day.1 >= 10)
        .map(|day| *day.0)
        .collect();
    let run = |day: &chrono::NaiveDate| {
        day.iter_days()
            .take_while(|day| counted.contains(day))
            .count()
    };
    assert_eq!(
        data["streaks"]["longest"],
        json!(counted.iter().map(run).max())
    );
    assert_eq!(
        data["streaks"]["days_active_this_month"],
        json!(counted.iter().filter(|day| in_month(**day)).count())
    );
    let minutes: i32 = days.values().sum();
    let stats = &data["session_stats"];
    assert_eq!(
        (&stats["total_sessions"], &stats["total_minutes"]),
        (&json!(sessions.len()), &json!(minutes))
    );
    let best_hour = hours.iter().rev().max_by_key(|hour| *hour.1).unwrap().0;
    let favorite = categories
        .iter()
        .rev()
        .max_by_key(|category| *category.1)
        .unwrap()
        .0;
    assert_eq!(
        (&stats["most_productive_hour"], &stats["favorite_category"]),
        (&json!(best_hour), &json!(favorite))
    );
    service.stop().await;
}

/// Requests that arrive at the same moment share their statements.
#[tokio::test(flavor = "multi_thread")]
async fn a_coalesced_request_gets_the_same_user_data_as_a_single_one() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let zones = [
        None,
        Some("Pacific/Pago_Pago"),
        Some("Asia/Kolkata"),
        Some("Pacific/Kiritimati"),
        Some("America/New_York"),
    ];
    let callers: Vec<Caller> = (7..20).map(|id| Caller::outsider(&service, id)).collect();
    for (caller, zone) in callers.iter().zip(zones.into_iter().cycle()) {
        if let Some(zone) = zone {
            caller.set_zone(zone).await;
        }
    }
    // The last users have done nothing yet, and each of the others something different.
    for (nth, caller) in callers.iter().enumerate().take(9) {
        for _ in 0..=nth % 3 {
            let category = ["coding", "writing"][nth % 2];
            caller
                .work(category, 20 + i64::try_from(nth).unwrap())
                .await;
            service.clock.advance(TimeDelta::hours(7));
        }
    }
    let mut alone = Vec::new();
    for caller in &callers {
        alone.push(caller.data().await);
    }
    let different: BTreeSet<String> = alone
        .iter()
        .map(|data| data["points"].to_string())
        .collect();
    assert!(different.len() > 8, "{different:?}");

    let statements = || service.api.statements("GET", "/api/user/data");
    let before = statements().await;
    // Each user asks twice, as with two clients.
    let twice = || callers.iter().chain(&callers);
    for _ in 0..10 {
        let together: Vec<Value> = join_all(twice().map(Caller::data)).await;
        for (together, alone) in together.iter().zip(alone.iter().chain(&alone)) {
            assert_eq!(together, alone);
        }
    }
    let requests = u64::try_from(20 * callers.len()).unwrap();
    if TestBackend::current() == TestBackend::Postgres {
        let needed = statements().await - before;
        assert!(needed < 2 * requests, "{needed} for {requests} requests");
    }
    service.stop().await;
}
