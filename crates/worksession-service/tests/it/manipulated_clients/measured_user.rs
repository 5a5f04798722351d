//! A user, and what the server's clock showed during each of their sessions. Earnings are compared with that alone, not
//! with what the service says that it measured.

use std::cell::RefCell;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::caller::{Caller, changed, flags, honest, parse_time, statuses};
use crate::service_fixture::Service;

/// Returns by how many milliseconds a session may miss its plan and still be complete: 5 s, and 2 % at most.
fn tolerance_millis(planned: i64) -> i64 {
    (planned * 60_000 / 50).min(5_000)
}

/// The highest rate that a streak can give, in hundredths of a point per minute.
const BEST_RATE: i64 = 12;

pub struct MeasuredUser<'a> {
    pub service: &'a Service,
    pub caller: Caller<'a>,
    pub id: i64,
    sessions: RefCell<Vec<TimedSession>>,
}

#[derive(Debug)]
struct TimedSession {
    id: String,
    planned: i64,
    from: DateTime<Utc>,
    /// The time of the next start or of the submit, whichever came first.
    ended: Option<DateTime<Utc>>,
    submitted: bool,
}

impl<'a> MeasuredUser<'a> {
    pub fn new(service: &'a Service, id: i64) -> Self {
        Self {
            service,
            caller: Caller::member(service, id),
            id,
            sessions: RefCell::default(),
        }
    }

    /// Starts a session, whatever the response.
    pub async fn try_start(&self, path: &str, body: Value) -> ApiResponse {
        let reply = self.caller.post(path, body).await;
        self.record_start(&reply);
        reply
    }

    /// Records a start that was made in another way.
    pub fn record_start(&self, reply: &ApiResponse) {
        if reply.status == 201 {
            let (answer, now) = (reply.json(), self.service.time.now());
            let mut sessions = self.sessions.borrow_mut();
            // Of several starts at the same instant, the test does not know which one ran.
            for before in sessions.iter_mut().filter(|before| before.from != now) {
                before.ended.get_or_insert(now);
            }
            sessions.push(TimedSession {
                id: answer["session_id"].as_str().unwrap().to_owned(),
                planned: answer["presession"]["planned_duration"].as_i64().unwrap(),
                from: now,
                ended: None,
                submitted: false,
            });
        }
    }

    /// Starts that many minutes of coding.
    pub async fn start(&self, minutes: i64) -> Value {
        self.start_noted(minutes, "").await
    }

    /// Starts with a planning note, without which a start soon after would be the same one.
    pub async fn start_noted(&self, minutes: i64, note: &str) -> Value {
        let body = json!({"category": "coding", "duration": minutes, "note": note});
        let reply = self.try_start("/api/clienta_timer_start", body).await;
        reply.expect(201).json()
    }

    /// Lets minutes pass.
    pub fn pass(&self, minutes: i64) {
        self.pass_seconds(minutes * 60);
    }

    pub fn pass_seconds(&self, seconds: i64) {
        self.pass_millis(seconds * 1_000);
    }

    pub fn pass_millis(&self, millis: i64) {
        self.service.clock.advance(TimeDelta::milliseconds(millis));
    }

    /// Submits, whatever the response.
    pub async fn submit(&self, body: Value) -> ApiResponse {
        let reply = self.caller.submit(body).await;
        if reply.status == 200 {
            let answer = reply.json();
            let id = answer["session_id"].as_str().unwrap();
            let mut sessions = self.sessions.borrow_mut();
            let own = sessions.iter_mut().find(|own| own.id == id);
            let own = own.expect("nothing is paid for but what was started");
            own.ended.get_or_insert(self.service.time.now());
            own.submitted = true;
        }
        reply
    }

    /// Submits the honest body with these fields in place of its own.
    pub async fn submit_with(&self, started: &Value, fields: &Value) -> ApiResponse {
        self.submit(changed(honest(started, self.service), fields))
            .await
    }

    /// Submits with a client's times, in seconds after the server's start.
    pub async fn submit_times(&self, started: &Value, from: i64, to: i64) -> ApiResponse {
        let at =
            |offset| (parse_time(&started["started_at"]) + TimeDelta::seconds(offset)).to_rfc3339();
        let times = json!({"start_time": at(from), "end_time": at(to)});
        self.submit_with(started, &times).await
    }

    /// Submits; returns the credited minutes.
    pub async fn credited(&self, started: &Value, fields: &Value) -> i64 {
        let answer = self.submit_with(started, fields).await.expect(200).json();
        answer["credited_minutes"].as_i64().unwrap()
    }

    pub fn flags(&self, started: &Value) -> Vec<String> {
        flags(self.service, &started["session_id"])
    }

    pub fn statuses(&self) -> Vec<String> {
        statuses(self.service, self.id)
    }

    /// Returns all credited minutes.
    pub async fn total(&self) -> i64 {
        self.caller.data().await["session_stats"]["total_minutes"]
            .as_i64()
            .unwrap()
    }

    /// Checks that the earnings are at most what the server's clock showed, for each session and in total.
    pub async fn check_earnings(&self, name: &str) {
        let sessions = self.sessions.take();
        let listed = self.caller.get("/api/sessions?limit=200").await.expect(200);
        let listed = listed.json()["sessions"].as_array().unwrap().clone();
        assert_eq!(
            listed.len(),
            sessions.len(),
            "{name}: a session for each start"
        );
        let (mut minutes, mut points, mut submitted) = (0, 0, 0);
        let mut intervals = Vec::new();
        for session in &listed {
            let own = sessions
                .iter()
                .find(|own| session["session_id"] == own.id)
                .unwrap();
            let credited = session["credited_minutes"].as_i64().unwrap();
            let paid = hundredths(&session["points_awarded"]);
            let (from, to) = own.measured();
            let (millis, planned) = ((to - from).num_milliseconds().max(0), own.planned);
            assert!(
                credited * 60_000 <= millis + tolerance_millis(planned)
                    && (0..=planned).contains(&credited),
                "{name}: {credited} minutes for {millis} ms of {planned} planned"
            );
            assert!(
                (0..=credited * BEST_RATE).contains(&paid),
                "{name}: {paid} for {credited}"
            );
            (minutes, points) = (minutes + credited, points + paid);
            let status = session["status"].as_str().unwrap();
            submitted += i64::from(["completed", "partial"].contains(&status));
            if credited > 0 {
                intervals.push((from, to));
            }
        }
        let most = union_millis(&mut intervals);
        // The tolerance is 2 % of the earnings, however many sessions there are.
        assert!(
            minutes * 60_000 * 98 <= most * 100,
            "{name}: {minutes} minutes in {most} ms"
        );

        let data = self.caller.data().await;
        let stats = &data["session_stats"];
        assert_eq!(stats["total_minutes"], minutes, "{name}");
        assert_eq!(stats["total_sessions"], submitted, "{name}");
        assert_eq!(hundredths(&data["points"]["total"]), points, "{name}");
        let froms = || intervals.iter().map(|interval| interval.0);
        let days = froms()
            .max()
            .zip(froms().min())
            .map_or(-2, |(last, first)| (last - first).num_days());
        // The day of the start, and one more across the date line.
        assert!(
            data["streaks"]["longest"].as_i64().unwrap() <= days + 2,
            "{name}: {data}"
        );
    }
}

impl TimedSession {
    /// Returns start and end; a session that was never submitted has no duration.
    fn measured(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        let ended = self.ended.filter(|_| self.submitted);
        (self.from, ended.unwrap_or(self.from))
    }
}

#[track_caller]
pub fn assert_refused(reply: ApiResponse, status: u16, sentence: &str) {
    assert_eq!(reply.expect(status).json(), json!({"error": sentence}));
}

fn union_millis(intervals: &mut [(DateTime<Utc>, DateTime<Utc>)]) -> i64 {
    intervals.sort_unstable();
    let (mut millis, mut until) = (0, DateTime::<Utc>::MIN_UTC);
    for (from, to) in intervals.iter() {
        millis += (*to - (*from).max(until)).num_milliseconds().max(0);
        until = until.max(*to);
    }
    millis
}

fn hundredths(number: &Value) -> i64 {
    (number.as_f64().unwrap() * 100.0).round() as i64
}
