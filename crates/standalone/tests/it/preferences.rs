//! `PUT /api/user/preferences`, and how `user/data` shows its result.

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::harness::{System, User};

async fn put(system: &System, user: &User, body: Value) -> ApiResponse {
    system
        .work
        .put("/api/user/preferences")
        .bearer(&user.token)
        .json(body)
        .send()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_changes_the_preferences_that_it_names_and_user_data_shows_them() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let defaults = json!({
        "daily_goal": 8, "default_duration": 25, "short_break_duration": 5, "long_break_duration": 15,
        "notification_sound": "bell", "theme_preference": "system", "leaderboard_opt_in": false,
    });
    let shown = put(&system, &ada, json!({})).await.expect(200).json();
    assert_eq!(
        shown,
        json!({"success": true, "preferences": defaults, "timezone": "UTC"})
    );

    put(&system, &ada, json!({"daily_goal": 24, "unknown": [1]}))
        .await
        .expect(200);
    put(
        &system,
        &ada,
        json!({"theme_preference": "dark", "timezone": "Europe/Berlin"}),
    )
    .await
    .expect(200);
    let shown = put(
        &system,
        &ada,
        json!({"leaderboard_opt_in": true, "daily_goal": null}),
    )
    .await;
    let shown = shown.expect(200).json();
    let mut expected = defaults.clone();
    expected["daily_goal"] = json!(24);
    expected["theme_preference"] = json!("dark");
    expected["leaderboard_opt_in"] = json!(true);
    assert_eq!(
        shown,
        json!({"success": true, "preferences": expected, "timezone": "Europe/Berlin"})
    );

    let data = system.user_data(&ada).await;
    assert_eq!(data["timezone"], "Europe/Berlin");
    for (field, value) in expected.as_object().unwrap() {
        if field != "leaderboard_opt_in" {
            assert_eq!(&data["preferences"][field], value, "{field}");
        }
    }
    let bob = system.register_user("bob").await;
    assert_eq!(
        put(&system, &bob, json!({})).await.json()["preferences"],
        defaults
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_preference_changes_nothing() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    for (bad, sentence) in [
        (
            json!({"daily_goal": 0}),
            "daily_goal must be a whole number from 1 to 24",
        ),
        (
            json!({"default_duration": 481}),
            "default_duration must be a whole number from 1 to 480",
        ),
        (
            json!({"short_break_duration": 0}),
            "short_break_duration must be a whole number from 1 to 60",
        ),
        (
            json!({"long_break_duration": 61}),
            "long_break_duration must be a whole number from 1 to 60",
        ),
        (
            json!({"daily_goal": 9, "notification_sound": "Bell!"}),
            "notification_sound must have 1 to 32 characters of a-z, 0-9, _ and -",
        ),
        (
            json!({"daily_goal": 9, "theme_preference": ""}),
            "theme_preference must have 1 to 32 characters of a-z, 0-9, _ and -",
        ),
        (
            json!({"daily_goal": 9, "timezone": "Mars/Base"}),
            "timezone must be an IANA time zone name",
        ),
    ] {
        let refused = put(&system, &ada, bad).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    for bad in [
        json!({"daily_goal": "9"}),
        json!({"daily_goal": 9.5}),
        json!([]),
        json!({"timezone": 1}),
    ] {
        put(&system, &ada, bad).await.expect(400);
    }
    assert_eq!(system.user_data(&ada).await["preferences"]["daily_goal"], 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_zone_changes_once_a_day_after_a_free_first_change() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let zone = |name: &'static str| json!({"timezone": name, "daily_goal": 3});
    put(&system, &ada, zone("Europe/Berlin")).await.expect(200);
    put(&system, &ada, zone("Asia/Tokyo")).await.expect(200);
    system.clock.advance(TimeDelta::hours(1));
    let refused = put(
        &system,
        &ada,
        json!({"timezone": "America/Lima", "daily_goal": 5}),
    )
    .await
    .expect(409);
    assert_eq!(
        refused.json(),
        json!({"error": "The time zone can be changed once a day"})
    );
    assert_eq!(refused.header("retry-after"), (23 * 3_600).to_string());
    let data = system.user_data(&ada).await;
    assert_eq!(
        (&data["timezone"], &data["preferences"]["daily_goal"]),
        (&json!("Asia/Tokyo"), &json!(3))
    );
    // The same time zone again is no change.
    put(&system, &ada, zone("Asia/Tokyo")).await.expect(200);
    // Nor is an older name of it; the rest of the body is saved.
    let older = json!({"timezone": "Japan", "daily_goal": 4});
    let saved = put(&system, &ada, older).await.expect(200).json();
    assert_eq!(
        (&saved["timezone"], &saved["preferences"]["daily_goal"]),
        (&json!("Asia/Tokyo"), &json!(4))
    );
    system.clock.advance(TimeDelta::hours(23));
    put(&system, &ada, zone("America/Lima")).await.expect(200);
    put(&system, &ada, zone("UTC")).await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_time_zone_changes_one_counts() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    put(&system, &ada, json!({"timezone": "Europe/Berlin"}))
        .await
        .expect(200);
    let zones = [
        "Asia/Tokyo",
        "America/Lima",
        "Africa/Cairo",
        "Asia/Kolkata",
        "Europe/Paris",
        "Pacific/Apia",
    ];
    let tasks = zones.map(|zone| {
        let call = system.work.put("/api/user/preferences").bearer(&ada.token);
        tokio::spawn(call.json(json!({"timezone": zone})).send())
    });
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409]);
}
