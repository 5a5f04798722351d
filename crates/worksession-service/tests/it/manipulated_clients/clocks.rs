//! Wrong clocks, changed time zones, and days that are too long.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::Scenario;
use super::measured_user::MeasuredUser;

pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("each of a chain backdated to the first", |user| {
        Box::pin(chain(user))
    }),
    ("the server's clock set back before the submit", |user| {
        Box::pin(set_back(user))
    }),
    ("the server's clock set back between two starts", |user| {
        Box::pin(set_back_between(user))
    }),
    ("the same hour worked twice by a clock set back", |user| {
        Box::pin(hour_twice(user))
    }),
    ("an hour that the clocks skip", |user| {
        Box::pin(skipped_hour(user))
    }),
    ("an hour that comes twice", |user| {
        Box::pin(repeated_hour(user))
    }),
    ("an offset that makes ten minutes a day", |user| {
        Box::pin(offsets(user))
    }),
    ("a leap second and fractions of a microsecond", |user| {
        Box::pin(fractions(user))
    }),
    ("the ends of time", |user| Box::pin(ends_of_time(user))),
    ("a day of seventeen hours", |user| {
        Box::pin(seventeen_hours(user))
    }),
    ("a day of seventeen hours in two zones", |user| {
        Box::pin(two_zones(user))
    }),
    ("a day without sleep, submitted backwards", |user| {
        Box::pin(backwards(user))
    }),
    ("a streak by hopping over the date line", |user| {
        Box::pin(hopping(user))
    }),
    ("a streak by two zones a day", |user| {
        Box::pin(two_changes(user))
    }),
    ("a streak by submitting yesterday today", |user| {
        Box::pin(yesterday(user))
    }),
    ("a streak of days with nine minutes", |user| {
        Box::pin(nine_minutes(user))
    }),
    ("minutes that are seconds short", |user| {
        Box::pin(short_minutes(user))
    }),
];

async fn minutes(reply: test_kit::ApiResponse) -> i64 {
    reply.expect(200).json()["credited_minutes"]
        .as_i64()
        .unwrap()
}

async fn chain(user: &MeasuredUser<'_>) {
    let mut started = Vec::new();
    for number in 0..6 {
        started.push(user.start_noted(60, &number.to_string()).await);
        user.pass(10);
    }
    for (number, started) in (0..).zip(&started) {
        let reply = user.submit_times(started, -600 * number, 3_600).await;
        assert_eq!(minutes(reply).await, 10);
    }
}

async fn set_back(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(-60);
    let reply = user.submit_times(&started, 0, 1_500).await;
    assert_eq!(minutes(reply).await, 0);
    assert_eq!(user.flags(&started), ["future_end:suspect"]);
}

async fn set_back_between(user: &MeasuredUser<'_>) {
    let first = user.start(25).await;
    user.pass_seconds(-2);
    let second = user.start_noted(25, "second").await;
    user.pass(25);
    assert_eq!(
        user.credited(&second, &json!({})).await,
        25,
        "costs the honest nothing"
    );
    assert_eq!(user.credited(&first, &json!({})).await, 0);
}

async fn hour_twice(user: &MeasuredUser<'_>) {
    let first = user.start(60).await;
    user.pass(60);
    assert_eq!(user.credited(&first, &json!({})).await, 60);
    user.pass(-45);
    let second = user.start_noted(60, "again").await;
    user.pass(60);
    let reply = user.submit_times(&second, 0, 3_600).await;
    let again = minutes(reply).await;
    assert!(again <= 15, "{again} of 15 new minutes");
}

/// Clocks in Europe/Berlin skip from 02:00 to 03:00 on that night.
async fn skipped_hour(user: &MeasuredUser<'_>) {
    user.caller.set_zone("Europe/Berlin").await;
    user.service
        .clock
        .set("2027-03-28T00:50:00Z".parse().unwrap());
    let started = user.start(85).await;
    user.pass(25);
    // By the wall clock from 01:50 to 03:15; the client forgets that its offset changed.
    let times =
        json!({"start_time": "2027-03-28T01:50:00+01:00", "end_time": "2027-03-28T03:15:00+01:00"});
    assert_eq!(user.credited(&started, &times).await, 25);
    assert_eq!(user.flags(&started), ["future_end:suspect"]);
}

/// Clocks in Europe/Berlin go from 03:00 back to 02:00 on that night.
async fn repeated_hour(user: &MeasuredUser<'_>) {
    user.caller.set_zone("Europe/Berlin").await;
    user.service
        .clock
        .set("2027-10-31T00:30:00Z".parse().unwrap());
    let started = user.start(70).await;
    user.pass(10);
    let times =
        json!({"start_time": "2027-10-31T02:30:00+02:00", "end_time": "2027-10-31T02:40:00+01:00"});
    assert_eq!(user.credited(&started, &times).await, 10);
    let honest = user.start_noted(60, "honest").await;
    user.pass(60);
    let times =
        json!({"start_time": "2027-10-31T02:40:00+02:00", "end_time": "2027-10-31T02:40:00+01:00"});
    assert_eq!(
        user.credited(&honest, &times).await,
        60,
        "an hour went by all the same"
    );
}

async fn offsets(user: &MeasuredUser<'_>) {
    let started = user.start(480).await;
    user.pass(10);
    let times =
        json!({"start_time": "2026-11-23T09:00:00+14:00", "end_time": "2026-11-23T09:10:00-12:00"});
    assert_eq!(user.credited(&started, &times).await, 10);
    assert_eq!(
        user.flags(&started),
        ["client_clock:info", "future_end:suspect"]
    );
}

async fn fractions(user: &MeasuredUser<'_>) {
    let started = user.start(2).await;
    user.pass_seconds(114);
    let times = json!({"start_time": "2026-11-23T08:59:59.9999999Z", "end_time": "2026-11-23T09:01:60.9999999Z"});
    assert_eq!(user.credited(&started, &times).await, 1);
}

async fn ends_of_time(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(13);
    let refused = "must be an ISO 8601 time with an offset";
    for (from, to) in [
        ("1969-12-31T23:59:59Z", "2026-11-23T09:13:00Z"),
        ("-0001-01-01T00:00:00Z", "2026-11-23T09:13:00Z"),
        ("2026-11-23T09:00:00Z", "+10000-01-01T00:00:00Z"),
        ("2026-11-23T09:00:00Z", "9999-12-31T23:59:59-23:59"),
        ("2026-11-23T09:00:00", "2026-11-23T09:13:00"),
    ] {
        let reply = user
            .submit_with(&started, &json!({"start_time": from, "end_time": to}))
            .await;
        let error = reply.expect(400).json()["error"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(error.ends_with(refused), "{error}");
    }
    let times = json!({"start_time": "1970-01-01T00:00:00Z", "end_time": "9999-12-31T23:59:59Z"});
    assert_eq!(user.credited(&started, &times).await, 13);
    assert_eq!(
        user.flags(&started),
        ["client_clock:info", "future_end:suspect"]
    );
}

/// Works a shift; returns the credited minutes and the flags.
async fn shift(user: &MeasuredUser<'_>, hours: i64) -> (i64, Vec<String>) {
    let started = user
        .start_noted(hours * 60, &user.service.time.now().to_string())
        .await;
    user.pass(hours * 60);
    (
        user.credited(&started, &json!({})).await,
        user.flags(&started),
    )
}

async fn seventeen_hours(user: &MeasuredUser<'_>) {
    user.pass(15 * 60);
    let suspect = || vec!["long_day:suspect".to_owned()];
    // All of them start on one local day.
    assert_eq!(shift(user, 8).await, (480, vec![]));
    assert_eq!(shift(user, 8).await, (480, suspect()));
    assert_eq!(
        shift(user, 1).await,
        (0, suspect()),
        "sixteen hours are a day"
    );
}

async fn two_zones(user: &MeasuredUser<'_>) {
    user.service
        .clock
        .set("2026-11-24T00:00:00Z".parse().unwrap());
    let mut credited = 0;
    for hours in [8, 8] {
        credited += shift(user, hours).await.0;
    }
    user.caller.set_zone("Pacific/Kiritimati").await;
    let (minutes, flags) = shift(user, 8).await;
    credited += minutes;
    // It is another day there. The hours are real, but count as suspect.
    assert_eq!(flags, ["long_day:suspect"]);
    assert!(credited <= 24 * 60);
}

async fn backwards(user: &MeasuredUser<'_>) {
    let mut started: Vec<Value> = Vec::new();
    for number in 0..4 {
        started.push(user.start_noted(300, &number.to_string()).await);
        user.pass(240);
    }
    let mut flags = Vec::new();
    for started in started.iter().rev() {
        assert_eq!(user.credited(started, &json!({})).await, 240);
        flags.push(user.flags(started).len());
    }
    assert_eq!(flags, [0, 0, 0, 1], "the fourth makes sixteen hours of it");
}

async fn hopping(user: &MeasuredUser<'_>) {
    user.caller.set_zone("Pacific/Pago_Pago").await;
    shift(user, 1).await;
    for (day, zone) in [
        "Pacific/Kiritimati",
        "Pacific/Pago_Pago",
        "Pacific/Kiritimati",
    ]
    .iter()
    .enumerate()
    {
        user.caller.set_zone(zone).await;
        shift(user, 1).await;
        let longest = user.caller.data().await["streaks"]["longest"]
            .as_u64()
            .unwrap();
        assert!(
            longest <= u64::try_from(day).unwrap() + 2,
            "{longest} after {day} days"
        );
        user.pass(23 * 60);
    }
}

async fn two_changes(user: &MeasuredUser<'_>) {
    let put = async |zone: &str| {
        let call = user
            .service
            .api
            .put("/api/user/preferences")
            .bearer(&user.caller.token);
        call.json(json!({"timezone": zone})).send().await
    };
    put("Pacific/Pago_Pago").await.expect(200);
    shift(user, 1).await;
    put("Pacific/Kiritimati").await.expect(200);
    shift(user, 1).await;
    for zone in ["Pacific/Pago_Pago", "UTC", "Asia/Tokyo"] {
        let refused = put(zone).await.expect(409);
        let wait = refused.header("retry-after").parse::<i64>().unwrap();
        assert!((1..=86_400).contains(&wait));
    }
    assert_eq!(user.caller.data().await["timezone"], "Pacific/Kiritimati");
}

async fn yesterday(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25);
    let now: DateTime<Utc> = user.service.time.now();
    let day = TimeDelta::days(1);
    let times = json!({"start_time": now - day, "end_time": now - day + TimeDelta::minutes(25)});
    assert_eq!(user.credited(&started, &times).await, 25);
    assert_eq!(user.flags(&started), ["client_clock:info"]);
    let data = user.caller.data().await;
    assert_eq!(data["points"]["today"], data["points"]["total"]);
    assert_eq!(data["streaks"]["days_active_this_week"], 1);
}

async fn nine_minutes(user: &MeasuredUser<'_>) {
    for _ in 0..5 {
        let started = user.start(9).await;
        user.pass(9);
        assert_eq!(user.credited(&started, &json!({})).await, 9);
        user.pass(24 * 60 - 9);
    }
    let streaks = user.caller.data().await["streaks"].clone();
    assert_eq!(
        (&streaks["current"], &streaks["longest"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(
        user.caller.data().await["points"]["total"],
        4.5,
        "not multiplied"
    );
}

/// Each may be 2 % short of its minute, which is one whole second.
async fn short_minutes(user: &MeasuredUser<'_>) {
    for (seconds, minute) in [(55, 0), (58, 0), (60, 1), (59, 1)] {
        let started = user.start_noted(1, &seconds.to_string()).await;
        user.pass_seconds(seconds);
        assert_eq!(
            user.credited(&started, &json!({})).await,
            minute,
            "{seconds}"
        );
    }
}
