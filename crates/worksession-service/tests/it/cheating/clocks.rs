//! Wrong clocks, changed time zones, and days that are too long.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::Play;
use super::game::Game;

pub const PLAYS: &[(&str, Play)] = &[
    ("each of a chain backdated to the first", |game| {
        Box::pin(chain(game))
    }),
    ("the server's clock set back before the submit", |game| {
        Box::pin(set_back(game))
    }),
    ("the server's clock set back between two starts", |game| {
        Box::pin(set_back_between(game))
    }),
    ("the same hour worked twice by a clock set back", |game| {
        Box::pin(hour_twice(game))
    }),
    ("an hour that the clocks skip", |game| {
        Box::pin(skipped_hour(game))
    }),
    ("an hour that comes twice", |game| {
        Box::pin(repeated_hour(game))
    }),
    ("an offset that makes ten minutes a day", |game| {
        Box::pin(offsets(game))
    }),
    ("a leap second and fractions of a microsecond", |game| {
        Box::pin(fractions(game))
    }),
    ("the ends of time", |game| Box::pin(ends_of_time(game))),
    ("a day of seventeen hours", |game| {
        Box::pin(seventeen_hours(game))
    }),
    ("a day of seventeen hours in two zones", |game| {
        Box::pin(two_zones(game))
    }),
    ("a day without sleep, submitted backwards", |game| {
        Box::pin(backwards(game))
    }),
    ("a streak by hopping over the date line", |game| {
        Box::pin(hopping(game))
    }),
    ("a streak by two zones a day", |game| {
        Box::pin(two_changes(game))
    }),
    ("a streak by submitting yesterday today", |game| {
        Box::pin(yesterday(game))
    }),
    ("a streak of days with nine minutes", |game| {
        Box::pin(nine_minutes(game))
    }),
    ("minutes that are seconds short", |game| {
        Box::pin(short_minutes(game))
    }),
];

async fn minutes(reply: test_kit::ApiResponse) -> i64 {
    reply.expect(200).json()["credited_minutes"]
        .as_i64()
        .unwrap()
}

async fn chain(game: &Game<'_>) {
    let mut started = Vec::new();
    for number in 0..6 {
        started.push(game.start_noted(60, &number.to_string()).await);
        game.pass(10);
    }
    for (number, started) in (0..).zip(&started) {
        let reply = game.submit_times(started, -600 * number, 3_600).await;
        assert_eq!(minutes(reply).await, 10);
    }
}

async fn set_back(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(-60);
    let reply = game.submit_times(&started, 0, 1_500).await;
    assert_eq!(minutes(reply).await, 0);
    assert_eq!(game.flags(&started), ["future_end:suspect"]);
}

async fn set_back_between(game: &Game<'_>) {
    let first = game.start(25).await;
    game.pass_seconds(-2);
    let second = game.start_noted(25, "second").await;
    game.pass(25);
    assert_eq!(
        game.credited(&second, &json!({})).await,
        25,
        "costs the honest nothing"
    );
    assert_eq!(game.credited(&first, &json!({})).await, 0);
}

async fn hour_twice(game: &Game<'_>) {
    let first = game.start(60).await;
    game.pass(60);
    assert_eq!(game.credited(&first, &json!({})).await, 60);
    game.pass(-45);
    let second = game.start_noted(60, "again").await;
    game.pass(60);
    let reply = game.submit_times(&second, 0, 3_600).await;
    let again = minutes(reply).await;
    assert!(again <= 15, "{again} of 15 new minutes");
}

/// Clocks in Europe/Berlin skip from 02:00 to 03:00 on that night.
async fn skipped_hour(game: &Game<'_>) {
    game.who.set_zone("Europe/Berlin").await;
    game.service
        .clock
        .set("2027-03-28T00:50:00Z".parse().unwrap());
    let started = game.start(85).await;
    game.pass(25);
    // By the wall clock from 01:50 to 03:15; the client forgets that its offset changed.
    let times =
        json!({"start_time": "2027-03-28T01:50:00+01:00", "end_time": "2027-03-28T03:15:00+01:00"});
    assert_eq!(game.credited(&started, &times).await, 25);
    assert_eq!(game.flags(&started), ["future_end:suspect"]);
}

/// Clocks in Europe/Berlin go from 03:00 back to 02:00 on that night.
async fn repeated_hour(game: &Game<'_>) {
    game.who.set_zone("Europe/Berlin").await;
    game.service
        .clock
        .set("2027-10-31T00:30:00Z".parse().unwrap());
    let started = game.start(70).await;
    game.pass(10);
    let times =
        json!({"start_time": "2027-10-31T02:30:00+02:00", "end_time": "2027-10-31T02:40:00+01:00"});
    assert_eq!(game.credited(&started, &times).await, 10);
    let honest = game.start_noted(60, "honest").await;
    game.pass(60);
    let times =
        json!({"start_time": "2027-10-31T02:40:00+02:00", "end_time": "2027-10-31T02:40:00+01:00"});
    assert_eq!(
        game.credited(&honest, &times).await,
        60,
        "an hour went by all the same"
    );
}

async fn offsets(game: &Game<'_>) {
    let started = game.start(480).await;
    game.pass(10);
    let times =
        json!({"start_time": "2026-11-23T09:00:00+14:00", "end_time": "2026-11-23T09:10:00-12:00"});
    assert_eq!(game.credited(&started, &times).await, 10);
    assert_eq!(
        game.flags(&started),
        ["client_clock:info", "future_end:suspect"]
    );
}

async fn fractions(game: &Game<'_>) {
    let started = game.start(2).await;
    game.pass_seconds(114);
    let times = json!({"start_time": "2026-11-23T08:59:59.9999999Z", "end_time": "2026-11-23T09:01:60.9999999Z"});
    assert_eq!(game.credited(&started, &times).await, 1);
}

async fn ends_of_time(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(13);
    let refused = "must be an ISO 8601 time with an offset";
    for (from, to) in [
        ("1969-12-31T23:59:59Z", "2026-11-23T09:13:00Z"),
        ("-0001-01-01T00:00:00Z", "2026-11-23T09:13:00Z"),
        ("2026-11-23T09:00:00Z", "+10000-01-01T00:00:00Z"),
        ("2026-11-23T09:00:00Z", "9999-12-31T23:59:59-23:59"),
        ("2026-11-23T09:00:00", "2026-11-23T09:13:00"),
    ] {
        let reply = game
            .submit_with(&started, &json!({"start_time": from, "end_time": to}))
            .await;
        let told = reply.expect(400).json()["error"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(told.ends_with(refused), "{told}");
    }
    let times = json!({"start_time": "1970-01-01T00:00:00Z", "end_time": "9999-12-31T23:59:59Z"});
    assert_eq!(game.credited(&started, &times).await, 13);
    assert_eq!(
        game.flags(&started),
        ["client_clock:info", "future_end:suspect"]
    );
}

/// Works a shift; returns the credited minutes and the flags.
async fn shift(game: &Game<'_>, hours: i64) -> (i64, Vec<String>) {
    let started = game
        .start_noted(hours * 60, &game.service.time.now().to_string())
        .await;
    game.pass(hours * 60);
    (
        game.credited(&started, &json!({})).await,
        game.flags(&started),
    )
}

async fn seventeen_hours(game: &Game<'_>) {
    game.pass(15 * 60);
    let suspect = || vec!["long_day:suspect".to_owned()];
    // All of them start on one local day.
    assert_eq!(shift(game, 8).await, (480, vec![]));
    assert_eq!(shift(game, 8).await, (480, suspect()));
    assert_eq!(
        shift(game, 1).await,
        (0, suspect()),
        "sixteen hours are a day"
    );
}

async fn two_zones(game: &Game<'_>) {
    game.service
        .clock
        .set("2026-11-24T00:00:00Z".parse().unwrap());
    let mut credited = 0;
    for hours in [8, 8] {
        credited += shift(game, hours).await.0;
    }
    game.who.set_zone("Pacific/Kiritimati").await;
    let (minutes, signs) = shift(game, 8).await;
    credited += minutes;
    // It is another day there. The hours are real, but count as suspect.
    assert_eq!(signs, ["long_day:suspect"]);
    assert!(credited <= 24 * 60);
}

async fn backwards(game: &Game<'_>) {
    let mut started: Vec<Value> = Vec::new();
    for number in 0..4 {
        started.push(game.start_noted(300, &number.to_string()).await);
        game.pass(240);
    }
    let mut signs = Vec::new();
    for started in started.iter().rev() {
        assert_eq!(game.credited(started, &json!({})).await, 240);
        signs.push(game.flags(started).len());
    }
    assert_eq!(signs, [0, 0, 0, 1], "the fourth makes sixteen hours of it");
}

async fn hopping(game: &Game<'_>) {
    game.who.set_zone("Pacific/Pago_Pago").await;
    shift(game, 1).await;
    for (day, zone) in [
        "Pacific/Kiritimati",
        "Pacific/Pago_Pago",
        "Pacific/Kiritimati",
    ]
    .iter()
    .enumerate()
    {
        game.who.set_zone(zone).await;
        shift(game, 1).await;
        let longest = game.who.data().await["streaks"]["longest"]
            .as_u64()
            .unwrap();
        assert!(
            longest <= u64::try_from(day).unwrap() + 2,
            "{longest} after {day} days"
        );
        game.pass(23 * 60);
    }
}

async fn two_changes(game: &Game<'_>) {
    let put = async |zone: &str| {
        let call = game
            .service
            .api
            .put("/api/user/preferences")
            .bearer(&game.who.token);
        call.json(json!({"timezone": zone})).send().await
    };
    put("Pacific/Pago_Pago").await.expect(200);
    shift(game, 1).await;
    put("Pacific/Kiritimati").await.expect(200);
    shift(game, 1).await;
    for zone in ["Pacific/Pago_Pago", "UTC", "Asia/Tokyo"] {
        let refused = put(zone).await.expect(409);
        let wait = refused.header("retry-after").parse::<i64>().unwrap();
        assert!((1..=86_400).contains(&wait));
    }
    assert_eq!(game.who.data().await["timezone"], "Pacific/Kiritimati");
}

async fn yesterday(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(25);
    let now: DateTime<Utc> = game.service.time.now();
    let day = TimeDelta::days(1);
    let times = json!({"start_time": now - day, "end_time": now - day + TimeDelta::minutes(25)});
    assert_eq!(game.credited(&started, &times).await, 25);
    assert_eq!(game.flags(&started), ["client_clock:info"]);
    let data = game.who.data().await;
    assert_eq!(data["points"]["today"], data["points"]["total"]);
    assert_eq!(data["streaks"]["days_active_this_week"], 1);
}

async fn nine_minutes(game: &Game<'_>) {
    for _ in 0..5 {
        let started = game.start(9).await;
        game.pass(9);
        assert_eq!(game.credited(&started, &json!({})).await, 9);
        game.pass(24 * 60 - 9);
    }
    let streaks = game.who.data().await["streaks"].clone();
    assert_eq!(
        (&streaks["current"], &streaks["longest"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(
        game.who.data().await["points"]["total"],
        4.5,
        "not multiplied"
    );
}

/// Each may be 2 % short of its minute, which is one whole second.
async fn short_minutes(game: &Game<'_>) {
    for (seconds, minute) in [(55, 0), (58, 0), (60, 1), (59, 1)] {
        let started = game.start_noted(1, &seconds.to_string()).await;
        game.pass_seconds(seconds);
        assert_eq!(
            game.credited(&started, &json!({})).await,
            minute,
            "{seconds}"
        );
    }
}
