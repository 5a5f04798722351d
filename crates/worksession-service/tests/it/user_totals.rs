//! Simulated users: in any time zones and any order of submits, each response and the user's data equal what a slow
//! implementation of the rules computes from the list of sessions.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeDelta, TimeZone, Timelike, Utc};
use serde_json::{Value, json};
use service_kit::time_zone::Zone;

use crate::caller::{Caller, changed, honest};
use crate::service_fixture::Service;

#[path = "../../src/rules/streaks/reference.rs"]
mod reference;

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A start as the test recorded it.
struct Started {
    answer: Value,
    planned: i64,
    category: String,
    zone: Zone,
    from: DateTime<Utc>,
    /// The time of the next start.
    ended: Option<DateTime<Utc>>,
}

/// A submit that counted.
struct Counted {
    date: NaiveDate,
    hour: u32,
    category: String,
    minutes: i64,
    points: i64,
}

/// A user according to the rules.
struct Model {
    zone: Zone,
    counted: Vec<Counted>,
    /// The same submits, for the streaks.
    sessions: Vec<reference::Session>,
}

impl Model {
    /// Returns status, credited minutes and hundredths of points of a submit at `now` that claims to have taken `claimed`.
    fn submit(
        &mut self,
        own: &Started,
        now: DateTime<Utc>,
        claimed: TimeDelta,
    ) -> (&'static str, i64, i64) {
        let plan = TimeDelta::minutes(own.planned);
        if now >= own.from + plan + TimeDelta::hours(12) {
            return ("abandoned", 0, 0);
        }
        let seconds = (own.ended.unwrap_or(now) - own.from)
            .min(claimed)
            .num_seconds();
        let offset = own
            .zone
            .offset_from_utc_datetime(&own.from.naive_utc())
            .fix();
        let local = own.from.with_timezone(&offset);
        let (date, hour) = (local.date_naive(), local.hour());
        let complete = seconds >= own.planned * 60 - 5;
        let worked = if complete { own.planned } else { seconds / 60 };
        let today = self.counted.iter().filter(|counted| counted.date == date);
        let minutes = worked.min(16 * 60 - today.map(|counted| counted.minutes).sum::<i64>());
        self.sessions.push(reference::Session {
            at: own.from.naive_utc(),
            offset: offset.local_minus_utc(),
            minutes: i32::try_from(minutes).unwrap(),
        });
        let streak = i64::from(reference::streak_on(&self.sessions, date)).min(10);
        // minutes / 10 × (100 + 2 × streak) / 100 points, half of that for a partial session, rounded half up to hundredths.
        let share = if complete { 10 } else { 20 };
        let exact = minutes * (100 + 2 * streak);
        let brief = !complete && (seconds < 300 || seconds * 2 < own.planned * 60);
        let points = if brief {
            0
        } else {
            (exact * 2 + share) / (share * 2)
        };
        self.counted.push(Counted {
            date,
            hour,
            category: own.category.clone(),
            minutes,
            points,
        });
        (
            if complete { "completed" } else { "partial" },
            minutes,
            points,
        )
    }

    fn data(&self, now: DateTime<Utc>) -> Value {
        let local = now.with_timezone(&self.zone);
        let (today, offset) = (local.date_naive(), local.offset().fix().local_minus_utc());
        let in_week = |date: NaiveDate| date.iso_week() == today.iso_week();
        let in_month =
            |date: NaiveDate| (date.year(), date.month()) == (today.year(), today.month());
        let points = |keep: &dyn Fn(NaiveDate) -> bool| {
            let days = self.counted.iter().filter(|counted| keep(counted.date));
            json!(days.map(|counted| counted.points).sum::<i64>() as f64 / 100.0)
        };
        let days: Vec<_> = reference::streaks(&self.sessions).into_keys().collect();
        let (mut hours, mut categories) = (BTreeMap::<_, i64>::new(), BTreeMap::<_, i64>::new());
        for counted in self.counted.iter().filter(|counted| counted.minutes > 0) {
            *hours.entry(counted.hour).or_default() += counted.minutes;
            *categories.entry(counted.category.clone()).or_default() += counted.minutes;
        }
        let minutes: i64 = hours.values().sum();
        let sessions = i64::try_from(self.counted.len()).unwrap();
        // Ties go to the earliest hour and to the first category of the alphabet.
        let hour = hours
            .iter()
            .rev()
            .max_by_key(|hour| *hour.1)
            .map_or(0, |hour| *hour.0);
        let category = categories.iter().rev().max_by_key(|category| *category.1);
        json!({
            "points": {
                "total": points(&|_| true),
                "today": points(&|date| date == today),
                "this_week": points(&in_week),
                "this_month": points(&in_month),
            },
            "streaks": {
                "current": reference::current(&self.sessions, now.naive_utc(), offset),
                "longest": reference::longest(&self.sessions),
                "days_active_this_week": days.iter().filter(|date| in_week(**date)).count(),
                "days_active_this_month": days.iter().filter(|date| in_month(**date)).count(),
            },
            "session_stats": {
                "total_sessions": sessions,
                "total_minutes": minutes,
                "average_session_length": (minutes as f64 / sessions.max(1) as f64 * 100.0).round() / 100.0,
                "most_productive_hour": hour,
                "favorite_category": category.map_or("", |category| category.0),
            },
        })
    }
}

/// Simulates some weeks of a user who changes zones, submits late and claims other times.
async fn simulate(service: &Service, user: i64, random: &mut Random) {
    let caller = Caller::outsider(service, user);
    let mut model = Model {
        zone: Zone::utc(),
        counted: Vec::new(),
        sessions: Vec::new(),
    };
    let mut open_sessions: Vec<Started> = Vec::new();
    for number in 0..40 {
        change_zone(&caller, &mut model, random).await;
        let (planned, category) = (1 + random.below(90), format!("c{}", random.below(3)));
        let plan = json!({"category": category, "duration": planned, "note": number.to_string()});
        let answer = caller.start(plan).await;
        let from = service.time.now();
        for running in &mut open_sessions {
            running.ended.get_or_insert(from);
        }
        open_sessions.push(Started {
            answer,
            planned,
            category,
            zone: model.zone,
            from,
            ended: None,
        });
        service
            .clock
            .advance(TimeDelta::seconds(random.below(100 * 60)));
        while !open_sessions.is_empty() && random.below(3) > 0 {
            let index = usize::try_from(random.below(64)).unwrap() % open_sessions.len();
            let own = open_sessions.swap_remove(index);
            submit(&caller, &mut model, &own, random).await;
        }
        let pause = [10, 200, 600, 1_400, 2_000][usize::try_from(random.below(5)).unwrap()];
        service
            .clock
            .advance(TimeDelta::minutes(random.below(pause)));
    }
    let data = caller.data().await;
    let expected = model.data(service.time.now());
    for part in ["points", "streaks", "session_stats"] {
        assert_eq!(data[part], expected[part], "user {user}");
    }
    assert!(model.counted.len() >= 15, "{}", model.counted.len());
}

async fn change_zone(caller: &Caller<'_>, model: &mut Model, random: &mut Random) {
    if random.below(3) > 0 {
        return;
    }
    let zones: Vec<_> = Zone::all().collect();
    let far = [
        Zone::get("Pacific/Kiritimati").unwrap(),
        Zone::get("Pacific/Pago_Pago").unwrap(),
    ];
    let zone = match random.below(3) {
        0 => zones[usize::try_from(random.below(i64::try_from(zones.len()).unwrap())).unwrap()],
        side => far[usize::try_from(side - 1).unwrap()],
    };
    let call = caller
        .service
        .api
        .put("/api/user/preferences")
        .bearer(&caller.token);
    let reply = call.json(json!({"timezone": zone.name()})).send().await;
    // A change is allowed once a day; an earlier one is refused.
    if reply.status == 200 {
        model.zone = zone;
    } else {
        reply.expect(409);
    }
}

async fn submit(caller: &Caller<'_>, model: &mut Model, own: &Started, random: &mut Random) {
    let claimed = match random.below(4) {
        0 => TimeDelta::seconds(random.below(own.planned * 60)),
        1 => TimeDelta::hours(20),
        _ => caller.service.time.now() - own.from,
    };
    let times = json!({"start_time": own.from, "end_time": own.from + claimed});
    let body = changed(honest(&own.answer, caller.service), &times);
    let answer = caller.submit(body).await.expect(200).json();
    let (status, minutes, points) = model.submit(own, caller.service.time.now(), claimed);
    let shown = json!([
        answer["status"],
        answer["credited_minutes"],
        answer["points_awarded"]
    ]);
    assert_eq!(
        shown,
        json!([status, minutes, points as f64 / 100.0]),
        "{}",
        answer["session_id"]
    );
    let expected = model.data(caller.service.time.now());
    assert_eq!(
        answer["points"], expected["points"],
        "{}",
        answer["session_id"]
    );
    assert_eq!(
        answer["streaks"], expected["streaks"],
        "{}",
        answer["session_id"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn simulated_users_get_the_totals_that_the_rules_compute_from_their_sessions() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for (user, year) in (50..).zip([2026, 2027, 2028, 2031, 2036, 2026, 2030, 2033]) {
        let month = 1 + u32::try_from(user % 12).unwrap();
        let began = Utc.with_ymd_and_hms(year, month, 20, 5, 0, 0).unwrap();
        service.clock.set(began);
        let seed = u64::try_from(user).unwrap();
        simulate(&service, user, &mut Random(seed * 0x9e37_79b9)).await;
    }
    service.stop().await;
}
