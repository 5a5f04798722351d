use std::sync::{Mutex, OnceLock};

use broker::PublishOutcome;
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use db_kit::DbError;
use diesel::prelude::*;
use event_types::{Event, EventData, Mail, MailRequested, MailTemplate};
use log::{Log, Metadata, Record};
use notifier::Config;
use service_kit::Clock;
use service_kit::seal::{Purpose, SealingKeys};
use tempfile::TempDir;
use test_kit::{MailServer, TestBackend, wait_until};
use uuid::Uuid;

use crate::kit::{KEY, Stage, TIMEOUT};

diesel::table! {
    deliveries (id) {
        id -> Text,
        state -> Text,
        payload -> Nullable<Text>,
        attempts -> BigInt,
        next_attempt_at -> Timestamp,
        reason -> Nullable<Text>,
    }
}

/// The row of a mail.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) payload: Option<String>,
    pub(crate) attempts: i64,
    pub(crate) next_attempt_at: NaiveDateTime,
    pub(crate) reason: Option<String>,
}

/// A notifier with a mail server.
pub(crate) struct MailSetup {
    pub(crate) stage: Stage,
    pub(crate) server: MailServer,
    pub(crate) folder: TempDir,
}

impl MailSetup {
    pub(crate) async fn open() -> Self {
        Self::open_with(Clock::system(), |_, _| {}).await
    }

    /// Starts with a configuration that `change` may edit; the server's URL is already in it.
    pub(crate) async fn open_with(
        clock: Clock,
        change: impl FnOnce(&mut Config, &MailServer),
    ) -> Self {
        collect_log();
        let server = MailServer::start().await;
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::set_with(clock, |config| {
            config.data_dir = Some(folder.path().to_owned());
            config.smtp.url = Some(server.url().as_str().into());
            config.smtp.from = "Holdfast <no-reply@holdfast.example>".to_owned();
            config.smtp.timeout_seconds = 2;
            change(config, &server);
        })
        .await;
        Self {
            stage,
            server,
            folder,
        }
    }

    /// Requests a mail, like the identity service does.
    pub(crate) async fn request_mail(&self, to: &str, text: MailTemplate) -> Uuid {
        self.stage.publish_event(&requested(to, text)).await
    }

    /// Requests a mail to this address, with a link to reset ada's password.
    pub(crate) async fn request_reset(&self, to: &str) -> Uuid {
        self.request_mail(to, reset("https://id.example.com/reset/t0ken"))
            .await
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        self.stage
            .pool()
            .read_blocking::<_, DbError>(|db| {
                Ok(deliveries::table
                    .order(deliveries::id)
                    .select(Row::as_select())
                    .load(db)?)
            })
            .unwrap()
    }

    pub(crate) fn row(&self, id: Uuid) -> Row {
        self.find_row(id).expect("the mail's row")
    }

    fn find_row(&self, id: Uuid) -> Option<Row> {
        let id = id.to_string();
        self.rows().into_iter().find(|row| row.id == id)
    }

    /// Waits until the mail's row exists and matches.
    pub(crate) async fn wait_for_row(&self, id: Uuid, wanted: impl Fn(&Row) -> bool) -> Row {
        wait_until("the mail's row", TIMEOUT, async || {
            self.find_row(id).filter(|row| wanted(row))
        })
        .await
    }

    /// Waits until an attempt has failed at the present time of the clock, which postpones the mail.
    pub(crate) async fn wait_for_failed_attempt(&self) {
        let now = self.stage.clock.now_naive();
        wait_until("a failed attempt", TIMEOUT, async || {
            let rows = self.rows();
            let mut tried = rows
                .iter()
                .filter(|row| row.reason.is_some() && row.state != "sending");
            tried.any(|row| row.next_attempt_at >= now).then_some(())
        })
        .await;
    }

    /// Waits until this many mails are stored.
    pub(crate) async fn wait_until_stored(&self, count: usize) {
        wait_until("the mails' rows", TIMEOUT, async || {
            (self.rows().len() == count).then_some(())
        })
        .await;
    }

    pub(crate) async fn wait_for_state(&self, id: Uuid, state: &str) -> Row {
        self.wait_for_row(id, |row| row.state == state).await
    }

    /// Waits until there are this many mails, each of them delivered or failed.
    pub(crate) async fn wait_until_settled(&self, count: usize) -> Vec<Row> {
        wait_until("all mails", TIMEOUT, async || {
            Some(self.rows()).filter(|rows| {
                let mut states = rows.iter().map(|row| row.state.as_str());
                let settled = states.all(|state| matches!(state, "delivered" | "failed"));
                settled && rows.len() == count
            })
        })
        .await
    }

    /// Waits until a metric has this value.
    pub(crate) async fn wait_for_metric(&self, line: &str, value: u64) {
        wait_until(line, TIMEOUT, async || {
            (self.stage.metric(line).await == value).then_some(())
        })
        .await;
    }

    /// Publishes a mail request with other data; returns the reason of the refusal, if the broker reports it.
    pub(crate) async fn publish_invalid(&self, data: serde_json::Value) -> Option<String> {
        let id = Uuid::now_v7();
        let mut event = serde_json::to_value(
            Event::new(id, "test", now(), None, &requested("", reset(""))).unwrap(),
        )
        .unwrap();
        event["data"] = data;
        let body = event.to_string();
        let (exchange, key) = (MailRequested::EXCHANGE, MailRequested::TYPE);
        let outcome = self.stage.publish(id, exchange, key, body.as_bytes()).await;
        match (TestBackend::current(), outcome) {
            (TestBackend::Sqlite, PublishOutcome::Unreadable(reason)) => Some(reason),
            (TestBackend::Postgres, PublishOutcome::Confirmed) => None,
            (_, other) => panic!("{other:?}"),
        }
    }
}

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_248_000, 0).unwrap()
}

pub(crate) fn reset(link: &str) -> MailTemplate {
    MailTemplate::ResetPassword {
        username: "ada".to_owned(),
        link: link.to_owned(),
        expires_at: now() + TimeDelta::hours(1),
    }
}

pub(crate) fn requested(to: &str, text: MailTemplate) -> MailRequested {
    sealed_with(KEY, to, text)
}

pub(crate) fn sealed_with(key: [u8; 32], to: &str, text: MailTemplate) -> MailRequested {
    let template = text.template().to_owned();
    let mail = Mail {
        to: to.to_owned(),
        text,
    };
    let plain = serde_json::to_vec(&mail).unwrap();
    let context = MailRequested::seal_context(&template);
    let sealed = SealingKeys::new(&key, [])
        .sealer(Purpose::Mails)
        .unwrap()
        .seal(&context, &plain);
    MailRequested {
        template,
        sealed: sealed.unwrap(),
    }
}

static LINES: OnceLock<Mutex<String>> = OnceLock::new();

/// Returns everything that the product's crates and the mail library have logged in this process, at any level.
pub(crate) fn logged_text() -> String {
    LINES.get().unwrap().lock().unwrap().clone()
}

fn collect_log() {
    LINES.get_or_init(|| {
        log::set_logger(&TestLog).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
        Mutex::default()
    });
}

struct TestLog;

impl Log for TestLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = ["notifier", "lettre", "broker", "db_kit", "service_kit"];
        ours.iter().any(|name| metadata.target().starts_with(name))
    }

    fn log(&self, record: &Record<'_>) {
        if let (true, Some(lines)) = (self.enabled(record.metadata()), LINES.get()) {
            let line = format!("{} {}\n", record.level(), record.args());
            lines.lock().unwrap().push_str(&line);
        }
    }

    fn flush(&self) {}
}
