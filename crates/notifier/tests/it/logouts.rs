//! Logout calls to OAuth clients (OpenID Connect Back-Channel Logout).

use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use db_kit::DbError;
use diesel::RunQueryDsl as _;
use event_types::{LogoutCall, LogoutRequested, LogoutToken};
use service_kit::Clock;
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::{ChatReply, wait_until};
use uuid::Uuid;

use crate::kit::{KEY, Stage, TIMEOUT};

const DELIVERED: &str = "logout_calls_total{outcome=\"delivered\"}";
const FAILED: &str = "logout_calls_total{outcome=\"failed\"}";
const RETRIES: &str = "logout_call_retries_total";
/// When the tokens of a call become valid, in seconds.
const ATTEMPTS: [i64; 4] = [0, 10, 60, 600];

#[derive(diesel::QueryableByName)]
struct Payload {
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
    payload: Option<String>,
}

impl Stage {
    /// Requests a call whose tokens are `token-0`, `token-10` and so on.
    async fn request_logout(&self, uri: &str) -> Uuid {
        let now = self.clock.now();
        let token = |seconds| LogoutToken {
            valid_from: now + TimeDelta::seconds(seconds),
            jwt: format!("token-{seconds}"),
        };
        let call = LogoutCall {
            uri: uri.to_owned(),
            tokens: ATTEMPTS.map(token).into(),
        };
        let keys = SealingKeys::new(&KEY, []);
        let sealer = keys.sealer(Purpose::Logouts).unwrap();
        let plain = serde_json::to_vec(&call).unwrap();
        let context = LogoutRequested::seal_context("web");
        let requested = LogoutRequested {
            client_id: "web".to_owned(),
            sealed: sealer.seal(&context, &plain).unwrap(),
        };
        self.publish_event(&requested).await
    }

    async fn until_logouts(&self, metric: &str, value: u64) {
        wait_until(metric, TIMEOUT, async || {
            (self.metric(metric).await == value).then_some(())
        })
        .await;
    }

    async fn is_not_called(&self) {
        let more = self.chat.next_message_within(Duration::from_millis(1_000));
        assert!(more.await.is_none());
    }
}

fn manual_clock() -> (Clock, service_kit::ManualClock) {
    Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_logout_call_posts_its_token_as_a_form_once() {
    let stage = Stage::set().await;
    stage.chat.script([ChatReply::Status(204)]);
    stage.request_logout(&stage.chat.hook("out")).await;
    let message = stage.chat.next_message().await;
    let call = (message.method.as_str(), message.path.as_str());
    assert_eq!(call, ("POST", "/services/out"));
    let form = "application/x-www-form-urlencoded";
    assert_eq!(message.header("content-type"), form);
    assert_eq!(message.raw, b"logout_token=token-0");
    stage.until_logouts(DELIVERED, 1).await;
    stage.is_not_called().await;
    // Neither address nor token remains.
    let query = diesel::sql_query("SELECT payload FROM deliveries");
    let rows = stage
        .pool()
        .read_blocking::<_, DbError>(|db| Ok(query.load::<Payload>(db)?));
    let rows = rows.unwrap();
    assert_eq!(rows.len(), 1);
    assert!(rows.iter().all(|row| row.payload.is_none()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_client_is_called_again_with_a_fresh_token_each_time() {
    let (clock, hand) = manual_clock();
    let stage = Stage::set_with(clock, |_| {}).await;
    stage.chat.usually(ChatReply::Status(503));
    stage.request_logout(&stage.chat.hook("out")).await;
    let mut last = 0;
    for (number, seconds) in (1..).zip(ATTEMPTS) {
        hand.advance(TimeDelta::seconds(seconds - last));
        last = seconds;
        let message = stage.chat.next_message().await;
        let body = String::from_utf8(message.raw).unwrap();
        assert_eq!(body, format!("logout_token=token-{seconds}"));
        if number < 4 {
            stage.until_logouts(RETRIES, number).await;
        }
    }
    stage.until_logouts(FAILED, 1).await;
    hand.advance(TimeDelta::days(1));
    stage.is_not_called().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_token_expired_while_the_notifier_was_away_waits_for_the_next() {
    let (clock, hand) = manual_clock();
    let mut stage = Stage::set_with(clock, |_| {}).await;
    stage.chat.script([ChatReply::Status(503)]);
    stage.request_logout(&stage.chat.hook("out")).await;
    stage.chat.next_message().await;
    stage.until_logouts(RETRIES, 1).await;
    stage.stop().await;
    hand.advance(TimeDelta::seconds(200));
    stage.start().await;
    // The new process counts from zero.
    stage.until_logouts(RETRIES, 1).await;
    hand.advance(TimeDelta::seconds(400));
    let message = stage.chat.next_message().await;
    assert_eq!(message.raw, b"logout_token=token-600");
    stage.until_logouts(DELIVERED, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_refuses_the_token_is_not_called_again_and_no_redirect_is_followed() {
    let stage = Stage::set().await;
    stage.chat.script([ChatReply::Status(400)]);
    stage.request_logout(&stage.chat.hook("out")).await;
    stage.chat.next_message().await;
    stage.until_logouts(FAILED, 1).await;
    let target = stage.chat.hook("internal");
    stage.chat.script([ChatReply::Redirect(target)]);
    stage.request_logout(&stage.chat.hook("moved")).await;
    let message = stage.chat.next_message().await;
    assert_eq!(message.path, "/services/moved");
    stage.until_logouts(RETRIES, 1).await;
    stage.is_not_called().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_inside_the_network_is_not_called() {
    let (clock, _hand) = manual_clock();
    let stage = Stage::set_with(clock, |config| config.http.allowed_cidrs.0.clear()).await;
    let port = stage.chat.address().port();
    for address in [
        format!("http://127.0.0.1:{port}/out"),
        format!("http://localhost:{port}/out"),
        format!("http://[::ffff:127.0.0.1]:{port}/out"),
        format!("http://2130706433:{port}/out"),
        format!("http://0x7f.1:{port}/out"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://[fd00::1]/out".to_owned(),
        // Other schemes than http are never called.
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
    ] {
        stage.request_logout(&address).await;
    }
    // The operator may allow them.
    stage.until_logouts(RETRIES, 9).await;
    stage.request_logout("not an address").await;
    stage.until_logouts(FAILED, 1).await;
    stage.is_not_called().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivered_request_makes_no_second_call_and_a_hanging_client_delays_no_other() {
    let stage = Stage::set().await;
    stage.chat.script([ChatReply::Hang]);
    stage.request_logout(&stage.chat.hook("hangs")).await;
    stage.chat.next_message().await;
    let id = stage.request_logout(&stage.chat.hook("out")).await;
    assert_eq!(stage.chat.next_message().await.path, "/services/out");
    stage.until_logouts(DELIVERED, 1).await;
    let again = LogoutRequested {
        client_id: "web".to_owned(),
        sealed: "v2.x.y".to_owned(),
    };
    stage.publish_event_as(id, &again).await;
    stage.is_not_called().await;
}
