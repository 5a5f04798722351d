//! One session of 25 planned minutes, submitted as the table says.

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use super::measured_user::MeasuredUser;
use crate::caller::{changed, honest, parse_time};

/// An attempt with one session of 25 planned minutes, submitted once.
pub struct SingleSession {
    pub name: &'static str,
    /// The seconds that pass on the server before the submit.
    server: i64,
    /// The client's start and end, in seconds after the server's start.
    client: (i64, i64),
    /// The fields that replace the honest ones.
    fields: Value,
    expected: Expected,
    flags: &'static [&'static str],
}

/// The expected result.
enum Expected {
    Completed,
    /// Minutes and points.
    Partial(i32, f64),
    /// Status and error.
    Refused(u16, &'static str),
}

impl SingleSession {
    pub async fn play(&self, user: &MeasuredUser<'_>) {
        let name = self.name;
        let started = user.start_noted(25, "the plan").await;
        user.pass_seconds(self.server);
        let at =
            |offset| (parse_time(&started["started_at"]) + TimeDelta::seconds(offset)).to_rfc3339();
        let times = json!({"start_time": at(self.client.0), "end_time": at(self.client.1)});
        let body = changed(
            changed(honest(&started, user.service), &times),
            &self.fields,
        );
        let reply = user.submit(body).await;
        match self.expected {
            Expected::Completed => credited(name, &reply, "completed", 25, 2.55),
            Expected::Partial(minutes, points) => {
                credited(name, &reply, "partial", minutes, points)
            }
            Expected::Refused(status, error) => {
                assert_eq!(reply.status, status, "{name}: {}", reply.text());
                let sentence = reply.json()["error"].as_str().unwrap().to_owned();
                let fields = sentence.trim_start_matches("Locked fields differ from the plan: ");
                assert_eq!(fields, error, "{name}");
                assert_eq!(user.statuses(), ["running"], "{name}");
                user.submit_with(&started, &json!({})).await.expect(200);
            }
        }
        assert_eq!(user.flags(&started), self.flags, "{name}");
    }
}

fn credited(name: &str, reply: &ApiResponse, status: &str, minutes: i32, points: f64) {
    assert_eq!(reply.status, 200, "{name}: {}", reply.text());
    let answer = reply.json();
    assert_eq!(answer["status"], status, "{name}");
    assert_eq!(answer["credited_minutes"], minutes, "{name}");
    assert_eq!(answer["points_awarded"], points, "{name}");
    assert_eq!(answer["points"]["total"], points, "{name}");
}

fn single(
    name: &'static str,
    server: i64,
    client: (i64, i64),
    expected: Expected,
    flags: &'static [&'static str],
) -> SingleSession {
    SingleSession {
        name,
        server,
        client,
        fields: json!({}),
        expected,
        flags,
    }
}

fn changed_plan(name: &'static str, fields: Value, differing: &'static str) -> SingleSession {
    SingleSession {
        name,
        server: 1500,
        client: (0, 1500),
        fields,
        expected: Expected::Refused(422, differing),
        flags: &["locked_mismatch:info"],
    }
}

const CLOCK: &str = "client_clock:info";
const FUTURE: &str = "future_end:suspect";

pub fn singles() -> Vec<SingleSession> {
    use Expected::{Completed, Partial, Refused};
    vec![
        single("an honest session", 1500, (0, 1500), Completed, &[]),
        single("five seconds are forgiven", 1495, (0, 1495), Completed, &[]),
        single("six are not", 1494, (0, 1494), Partial(24, 1.22), &[]),
        single("submitted at once", 0, (0, 0), Partial(0, 0.0), &[]),
        single(
            "submitted at once with a whole session's times",
            0,
            (0, 1500),
            Partial(0, 0.0),
            &[FUTURE],
        ),
        single(
            "a backdated start",
            300,
            (-1200, 300),
            Partial(5, 0.0),
            &[CLOCK],
        ),
        single(
            "a start backdated by a day",
            300,
            (-86_400, 300),
            Partial(5, 0.0),
            &[CLOCK],
        ),
        single("a future end", 780, (0, 1500), Partial(13, 0.66), &[FUTURE]),
        single(
            "an end a year ahead",
            780,
            (0, 31_536_000),
            Partial(13, 0.66),
            &[FUTURE],
        ),
        single(
            "backdated and ahead",
            780,
            (-1500, 3000),
            Partial(13, 0.66),
            &[CLOCK, FUTURE],
        ),
        single(
            "a whole session of yesterday",
            60,
            (-86_400, -84_900),
            Partial(1, 0.0),
            &[CLOCK],
        ),
        single(
            "a whole session of tomorrow",
            60,
            (86_400, 87_900),
            Partial(1, 0.0),
            &[CLOCK, FUTURE],
        ),
        single(
            "two minutes off are not flagged",
            1500,
            (-120, 1380),
            Completed,
            &[],
        ),
        single(
            "a clock that is off is flagged, not refused",
            1500,
            (-121, 1379),
            Completed,
            &[CLOCK],
        ),
        single("overrun", 7200, (0, 7200), Completed, &[]),
        single(
            "the client admits less",
            1500,
            (0, 900),
            Partial(15, 0.77),
            &[],
        ),
        single("half of the plan", 750, (0, 750), Partial(12, 0.61), &[]),
        single(
            "a second less than half",
            749,
            (0, 749),
            Partial(12, 0.0),
            &[],
        ),
        single("a moment", 1500, (0, 0), Partial(0, 0.0), &[]),
        single(
            "backwards",
            1500,
            (0, -1),
            Refused(400, "end_time must not be before start_time"),
            &[],
        ),
        changed_plan("category", json!({"category": "writing"}), "category"),
        changed_plan(
            "category in capitals",
            json!({"category": "Coding"}),
            "category",
        ),
        changed_plan("no category", json!({"category": ""}), "category"),
        changed_plan("a longer plan", json!({"duration": 480}), "duration"),
        changed_plan("a shorter plan", json!({"duration": 24}), "duration"),
        changed_plan("zero", json!({"duration": 0}), "duration"),
        changed_plan("negative", json!({"duration": -25}), "duration"),
        changed_plan("huge", json!({"duration": i64::MAX}), "duration"),
        changed_plan(
            "another project",
            json!({"project_id": "personal_1"}),
            "project_id",
        ),
        changed_plan(
            "the team's project",
            json!({"project_id": "team_1"}),
            "project_id",
        ),
    ]
}
