use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate, TimeDelta, Timelike};
use serde_json::{Value, json};
use service_kit::time_zone::Zone;

use crate::caller::{Caller, honest};
use crate::service_fixture::Service;

const PATH: &str = "/api/analytics/tracking";

/// A session as the test recorded it.
struct Worked {
    day: NaiveDate,
    hour: u32,
    category: &'static str,
    project: String,
    minutes: i64,
    points: f64,
}

/// Works for some weeks in a time zone; returns the sessions.
async fn work(caller: &Caller<'_>, zone: Zone, project: &str) -> Vec<Worked> {
    let mut worked = Vec::new();
    let clock = &caller.service.clock;
    for round in 0_i64..24 {
        let category = ["coding", "study", "Ünïcode \"x\""][usize::try_from(round % 3).unwrap()];
        let project = if round % 4 == 0 { project } else { "none" };
        let minutes = 10 + round;
        let local = caller.service.time.now().with_timezone(&zone);
        let plan = json!({"category": category, "duration": minutes, "project_id": project});
        let started = caller.start(plan).await;
        // Every fifth session ends too early, and one earns nothing.
        let done = match round {
            7 => 0,
            _ if round % 5 == 0 => minutes - 1,
            _ => minutes,
        };
        clock.advance(TimeDelta::minutes(done));
        let answer = caller.submit(honest(&started, caller.service)).await;
        let answer = answer.expect(200).json();
        assert_eq!(answer["credited_minutes"], done);
        worked.push(Worked {
            day: local.date_naive(),
            hour: local.hour(),
            category,
            project: project.to_owned(),
            minutes: done,
            points: answer["points_awarded"].as_f64().unwrap(),
        });
        clock.advance(TimeDelta::hours(17));
    }
    worked
}

/// Sums sessions, minutes and hundredths of points by a key.
fn sums<K: Ord>(worked: &[Worked], key: impl Fn(&Worked) -> K) -> BTreeMap<K, (i64, i64, i64)> {
    let mut sums = BTreeMap::<K, (i64, i64, i64)>::new();
    for work in worked {
        let sum = sums.entry(key(work)).or_default();
        sum.0 += 1;
        sum.1 += work.minutes;
        sum.2 += centi(work.points);
    }
    sums
}

#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn centi(points: f64) -> i64 {
    (points * 100.0).round() as i64
}

/// Returns the buckets of a response that are not empty, in their order.
fn buckets(answer: &Value) -> Vec<(String, (i64, i64, i64))> {
    let read = |bucket: &Value| {
        let number = |name: &str| bucket[name].as_i64().unwrap();
        let points = centi(bucket["points"].as_f64().unwrap());
        let key = bucket["key"].as_str().unwrap().to_owned();
        (key, (number("sessions"), number("minutes"), points))
    };
    let all = answer["buckets"].as_array().unwrap().iter().map(read);
    all.filter(|(_, sums)| sums.0 > 0).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_grouping_adds_up_to_the_sessions() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let caller = Caller::member(&service, 8);
    caller.set_zone("Asia/Tokyo").await;
    let project = caller.team_project().await;
    let worked = work(&caller, Zone::get("Asia/Tokyo").unwrap(), &project).await;
    let (first, last) = (worked[0].day, worked.last().unwrap().day);
    let get = async |group: &str| {
        let path = format!("{PATH}?from={first}&to={last}&group={group}");
        caller.get(&path).await.expect(200).json()
    };

    let day = get("day").await;
    assert_eq!(day["success"], true);
    assert_eq!(day["timezone"], "Asia/Tokyo");
    assert_eq!((&day["from"], &day["to"]), (&json!(first), &json!(last)));
    let days = (last - first).num_days() + 1;
    assert_eq!(
        day["buckets"].as_array().unwrap().len(),
        usize::try_from(days).unwrap(),
        "empty days are there"
    );
    let by_day: Vec<_> = sums(&worked, |work| work.day.to_string())
        .into_iter()
        .collect();
    assert_eq!(buckets(&day), by_day);

    let week = |work: &Worked| {
        let week = work.day.iso_week();
        format!("{}-W{:02}", week.year(), week.week())
    };
    let by_week: Vec<_> = sums(&worked, week).into_iter().collect();
    assert_eq!(buckets(&get("week").await), by_week);

    let hour = get("hour").await;
    let keys: Vec<_> = hour["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket["key"].clone())
        .collect();
    assert_eq!(
        keys,
        (0..24)
            .map(|hour| json!(hour.to_string()))
            .collect::<Vec<_>>()
    );
    let by_hour: Vec<_> = sums(&worked, |work| work.hour).into_iter().collect();
    let by_hour: Vec<_> = by_hour
        .into_iter()
        .map(|(hour, sums)| (hour.to_string(), sums))
        .collect();
    assert_eq!(buckets(&hour), by_hour);

    for (group, expected) in [
        ("category", sums(&worked, |work| work.category.to_owned())),
        ("project", sums(&worked, |work| work.project.clone())),
    ] {
        let mut expected: Vec<_> = expected.into_iter().collect();
        expected.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.1));
        assert_eq!(buckets(&get(group).await), expected, "{group}");
    }

    let all = sums(&worked, |_| ())[&()];
    for group in ["day", "week", "hour", "category", "project"] {
        let answer = get(group).await;
        assert_eq!(answer["group"], group);
        let totals =
            json!({"sessions": all.0, "minutes": all.1, "points": answer["totals"]["points"]});
        assert_eq!(answer["totals"], totals, "{group}");
        assert_eq!(centi(answer["totals"]["points"].as_f64().unwrap()), all.2);
    }
    // Another user sees none of it.
    let other = Caller::member(&service, 9);
    let nothing = other.get(&format!("{PATH}?from={first}&to={last}")).await;
    assert_eq!(buckets(&nothing.expect(200).json()), []);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_range_tracking_covers_the_last_thirty_days_by_day() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let caller = Caller::member(&service, 8);
    caller.work("coding", 25).await;
    let answer = caller.get(PATH).await.expect(200).json();
    assert_eq!(answer["from"], "2026-10-25");
    assert_eq!(answer["to"], "2026-11-23");
    assert_eq!(answer["group"], "day");
    assert_eq!(answer["timezone"], "UTC");
    let buckets = answer["buckets"].as_array().unwrap();
    assert_eq!(buckets.len(), 30);
    assert_eq!(
        buckets[29],
        json!({"key": "2026-11-23", "sessions": 1, "minutes": 25, "points": 2.55})
    );
    assert_eq!(
        buckets[28],
        json!({"key": "2026-11-22", "sessions": 0, "minutes": 0, "points": 0.0})
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_range_or_group_is_refused() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let caller = Caller::member(&service, 8);
    let span = "from and to must span at most 366 days";
    for (query, error) in [
        (
            "group=month",
            "group must be one of day, week, hour, category, project",
        ),
        (
            "group=",
            "group must be one of day, week, hour, category, project",
        ),
        ("from=yesterday", "from must be a date YYYY-MM-DD"),
        ("to=2026-02-29", "to must be a date YYYY-MM-DD"),
        (
            "from=2026-11-24&to=2026-11-23",
            "from must not be later than to",
        ),
        ("from=2025-11-22&to=2026-11-23", span),
        ("from=1970-01-01", span),
        ("to=-4800-01-01", "to must be a date YYYY-MM-DD"),
    ] {
        let reply = caller.get(&format!("{PATH}?{query}")).await.expect(400);
        assert_eq!(reply.json(), json!({ "error": error }), "{query}");
    }
    caller
        .get(&format!("{PATH}?from=2025-11-23&to=2026-11-23"))
        .await
        .expect(200);
    service.stop().await;
}
