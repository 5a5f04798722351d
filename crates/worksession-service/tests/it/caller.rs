//! A caller of the API, and what the database has of their sessions.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use diesel::prelude::*;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::service_fixture::Service;

/// A user with a token.
pub struct Caller<'a> {
    pub service: &'a Service,
    pub token: String,
}

impl<'a> Caller<'a> {
    /// Returns an owner of the team Engines.
    pub fn member(service: &'a Service, id: i64) -> Self {
        Self {
            service,
            token: format!("member-{id}"),
        }
    }

    /// Returns a member of the team who does not manage it.
    pub fn colleague(service: &'a Service, id: i64) -> Self {
        Self {
            service,
            token: format!("colleague-{id}"),
        }
    }

    /// Returns an owner of the team whose address `person…@example.com` is verified.
    pub fn verified(service: &'a Service, id: i64) -> Self {
        Self {
            service,
            token: format!("verified-{id}"),
        }
    }

    /// Returns a user without a team.
    pub fn outsider(service: &'a Service, id: i64) -> Self {
        Self {
            service,
            token: format!("outsider-{id}"),
        }
    }

    pub async fn post(&self, path: &str, body: Value) -> ApiResponse {
        self.service
            .api
            .post(path)
            .bearer(&self.token)
            .json(body)
            .send()
            .await
    }

    pub async fn get(&self, path: &str) -> ApiResponse {
        self.service.api.get(path).bearer(&self.token).send().await
    }

    pub async fn put(&self, path: &str, body: Value) -> ApiResponse {
        let call = self.service.api.put(path).bearer(&self.token);
        call.json(body).send().await
    }

    pub async fn delete(&self, path: &str) -> ApiResponse {
        let call = self.service.api.delete(path).bearer(&self.token);
        call.send().await
    }

    /// Starts a timer; returns the response.
    pub async fn start(&self, body: Value) -> Value {
        self.post("/api/clienta_timer_start", body)
            .await
            .expect(201)
            .json()
    }

    /// Starts 25 minutes of coding.
    pub async fn start_coding(&self) -> Value {
        self.start(json!({"category": "coding", "duration": 25, "note": "the plan"}))
            .await
    }

    pub async fn submit(&self, body: Value) -> ApiResponse {
        self.post("/api/pomodoro/submit", body).await
    }

    /// Starts a timer, lets its whole time pass and submits it; returns the response.
    pub async fn work(&self, category: &str, minutes: i64) -> Value {
        let started = self
            .start(json!({"category": category, "duration": minutes}))
            .await;
        self.service.clock.advance(TimeDelta::minutes(minutes));
        self.submit(honest(&started, self.service))
            .await
            .expect(200)
            .json()
    }

    pub async fn data(&self) -> Value {
        self.get("/api/user/data").await.expect(200).json()
    }

    pub async fn set_zone(&self, zone: &str) {
        let call = self
            .service
            .api
            .put("/api/user/preferences")
            .bearer(&self.token);
        call.json(json!({"timezone": zone}))
            .send()
            .await
            .expect(200);
    }

    /// Creates a project of the team; returns its id in the form that a session takes.
    pub async fn team_project(&self) -> String {
        let body = json!({"team_id": 3, "name": "Engine", "chat_channel": "#engine"});
        let made = self
            .post("/api/team-projects", body)
            .await
            .expect(201)
            .json();
        format!("team_{}", made["id"])
    }
}

/// Returns what an honest client submits now for a started session.
pub fn honest(started: &Value, service: &Service) -> Value {
    let plan = &started["presession"];
    json!({
        "session_id": started["session_id"],
        "category": plan["category"],
        "project_id": plan["project"]["id"],
        "duration": plan["planned_duration"],
        "note": "done",
        "start_time": started["started_at"],
        "end_time": service.time.now(),
    })
}

/// Returns `body` with `fields` in place of its own; null removes a field.
pub fn changed(mut body: Value, fields: &Value) -> Value {
    let target = body.as_object_mut().unwrap();
    for (name, value) in fields.as_object().unwrap() {
        if value.is_null() {
            target.remove(name);
        } else {
            target.insert(name.clone(), value.clone());
        }
    }
    body
}

pub fn parse_time(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

diesel::table! {
    session_flags (id) {
        id -> BigInt,
        session_id -> Text,
        kind -> Text,
        severity -> Text,
    }
}

diesel::table! {
    sessions (session_id) {
        session_id -> Text,
        user_id -> BigInt,
        status -> Text,
        started_at -> Timestamp,
        category -> Text,
        local_day -> Nullable<Date>,
        credited_minutes -> Integer,
        points_centi -> BigInt,
    }
}

diesel::table! {
    outbox (id) {
        id -> Text,
        routing_key -> Text,
        body -> Text,
    }
}

/// Returns `kind:severity` of the session's flags, in order.
pub fn flags(service: &Service, session_id: &Value) -> Vec<String> {
    let rows = service.database.pool(1).read_blocking(|db| {
        session_flags::table
            .filter(session_flags::session_id.eq(session_id.as_str().unwrap()))
            .order(session_flags::id)
            .select((session_flags::kind, session_flags::severity))
            .load::<(String, String)>(db)
            .map_err(db_kit::DbError::from)
    });
    rows.unwrap()
        .into_iter()
        .map(|(kind, severity)| format!("{kind}:{severity}"))
        .collect()
}

/// Returns the status of each of the user's sessions, in the order of their starts.
pub fn statuses(service: &Service, user: i64) -> Vec<String> {
    let rows = service.database.pool(1).read_blocking(|db| {
        sessions::table
            .filter(sessions::user_id.eq(user))
            .order((sessions::started_at, sessions::session_id))
            .select(sessions::status)
            .load::<String>(db)
            .map_err(db_kit::DbError::from)
    });
    rows.unwrap()
}

/// Returns the events of that type about that session that are still in the outbox: the broker of these tests has no
/// queue bound, so none is published.
pub fn session_events(service: &Service, event_type: &str, session_id: &Value) -> Vec<Value> {
    let rows = service.database.pool(1).read_blocking(|db| {
        outbox::table
            .filter(outbox::routing_key.eq(event_type))
            .select(outbox::body)
            .load::<String>(db)
            .map_err(db_kit::DbError::from)
    });
    let events = rows
        .unwrap()
        .into_iter()
        .map(|body| serde_json::from_str::<Value>(&body).unwrap());
    events
        .filter(|event| event["data"]["session_id"] == *session_id)
        .collect()
}

/// A credited session as it is stored.
#[derive(Debug, Queryable)]
pub struct Credited {
    pub started_at: NaiveDateTime,
    pub day: NaiveDate,
    pub category: String,
    pub minutes: i32,
    pub points: i64,
}

/// Returns the submitted sessions of the user that were not too late.
pub fn credited(service: &Service, user: i64) -> Vec<Credited> {
    let rows = service.database.pool(1).read_blocking(|db| {
        sessions::table
            .filter(
                sessions::user_id
                    .eq(user)
                    .and(sessions::local_day.is_not_null()),
            )
            .select((
                sessions::started_at,
                sessions::local_day.assume_not_null(),
                sessions::category,
                sessions::credited_minutes,
                sessions::points_centi,
            ))
            .load::<Credited>(db)
            .map_err(db_kit::DbError::from)
    });
    rows.unwrap()
}
