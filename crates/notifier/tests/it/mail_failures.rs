use std::collections::HashSet;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use service_kit::Clock;
use test_kit::MailFault;
use test_kit::MailStage::{Content, Greeting, Recipient, Sender};

use crate::mail_kit::{MailSetup, now};

const DELIVERED: &str = "mails_total{outcome=\"delivered\"}";
const DUPLICATES: &str = "mail_possible_duplicates_total";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_down_gets_every_mail_once_and_no_mail_loses_attempts() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |_, _| {}).await;
    setup.server.go_down().await;
    let mut ids = Vec::new();
    for n in 0..25 {
        ids.push(setup.request_reset(&format!("user{n}@example.com")).await);
    }
    setup.wait_until_stored(25).await;
    let unreached = "The mail server could not be reached";
    for _ in 0..4 {
        setup.wait_for_failed_attempt().await;
        manual_clock.advance(TimeDelta::seconds(61));
    }
    for row in setup.rows() {
        let reason = row.reason.unwrap_or_else(|| unreached.to_owned());
        assert!(reason.starts_with(unreached), "{reason}");
    }
    setup.server.come_back().await;
    manual_clock.advance(TimeDelta::seconds(61));
    let rows = setup.wait_until_settled(25).await;
    assert!(
        rows.iter()
            .all(|row| row.state == "delivered" && row.attempts == 1),
        "{rows:?}"
    );
    let mails = setup.server.mails();
    let to: HashSet<&str> = mails.iter().map(|mail| mail.to[0].as_str()).collect();
    assert_eq!((mails.len(), to.len()), (25, 25));
    // One connection probed the server, and at most four followed.
    assert!(
        setup.server.connections() <= 5,
        "{}",
        setup.server.connections()
    );
    setup.wait_for_metric(DUPLICATES, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_mail_server_is_probed_with_one_mail_at_a_time() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |_, _| {}).await;
    let busy = || MailFault::refuse("421 4.3.2 come later");
    setup.server.usually(Greeting, busy());
    let first = setup.request_reset("first@example.com").await;
    setup.wait_for_row(first, |row| row.reason.is_some()).await;
    for n in 0..10 {
        setup.request_reset(&format!("user{n}@example.com")).await;
    }
    setup.wait_until_stored(11).await;
    for knocks in 2..=4 {
        manual_clock.advance(TimeDelta::seconds(61));
        setup.wait_for_failed_attempt().await;
        assert_eq!(setup.server.connections(), knocks);
    }
    // Enough time for further connections, of which there must be none.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(setup.server.connections(), 4);
    setup.server.usually(Greeting, None);
    manual_clock.advance(TimeDelta::seconds(61));
    setup.wait_until_settled(11).await;
    assert_eq!(setup.server.mails().len(), 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_recipient_fails_alone_and_for_good() {
    let setup = MailSetup::open().await;
    let unknown = MailFault::refuse("550 5.1.1 <gone@example.com>: no such user");
    setup.server.for_recipient("gone@example.com", unknown);
    let mut others = Vec::new();
    for n in 0..6 {
        others.push(setup.request_reset(&format!("user{n}@example.com")).await);
        if n == 3 {
            let gone = setup.request_reset("gone@example.com").await;
            let row = setup.wait_for_state(gone, "failed").await;
            let reason = "The mail server refused the recipient: 550 5.1.1";
            assert_eq!(row.reason.as_deref(), Some(reason));
            assert_eq!((row.payload, row.attempts), (None, 1));
        }
    }
    for id in others {
        setup.wait_for_state(id, "delivered").await;
    }
    setup
        .wait_for_metric("mails_total{outcome=\"failed\"}", 1)
        .await;
    setup.wait_for_metric(DELIVERED, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_content_fails_for_good_and_a_busy_mailbox_is_retried() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |_, _| {}).await;
    setup
        .server
        .script(Content, [MailFault::refuse("554 5.7.1 looks like spam")]);
    let spam = setup.request_reset("ada@example.com").await;
    let row = setup.wait_for_state(spam, "failed").await;
    assert_eq!(
        row.reason.as_deref(),
        Some("The mail server refused the mail: 554 5.7.1")
    );

    let later = || MailFault::refuse("450 4.7.1 greylisted");
    setup.server.script(Recipient, [later(), later()]);
    let grey = setup.request_reset("bob@example.com").await;
    setup.wait_for_row(grey, |row| row.reason.is_some()).await;
    // No other mail waits for it.
    let free = setup.request_reset("eve@example.com").await;
    setup.wait_for_row(free, |row| row.reason.is_some()).await;
    let third = setup.request_reset("third@example.com").await;
    setup.wait_for_state(third, "delivered").await;
    assert_eq!(setup.row(grey).state, "pending");
    manual_clock.advance(TimeDelta::seconds(3));
    for id in [grey, free] {
        assert_eq!(setup.wait_for_state(id, "delivered").await.attempts, 2);
    }
    setup.wait_for_metric("mail_retries_total", 2).await;
    setup.wait_for_metric(DUPLICATES, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_possibly_accepted_mail_is_counted_and_sent_again_under_the_same_id() {
    for fault in [MailFault::Drop, MailFault::Hang] {
        let (clock, manual_clock) = Clock::manual(now());
        let setup = MailSetup::open_with(clock, |_, _| {}).await;
        setup.server.script(Content, [fault]);
        let id = setup.request_reset("ada@example.com").await;
        let first = setup.server.next_mail().await;
        setup.wait_for_metric(DUPLICATES, 1).await;
        manual_clock.advance(TimeDelta::seconds(3));
        let second = setup.server.next_mail().await;
        assert_eq!(first.raw, second.raw);
        assert_eq!(
            first.header("Message-ID"),
            format!("<{id}@holdfast.example>")
        );
        setup.wait_for_state(id, "delivered").await;
        setup.wait_for_metric(DELIVERED, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_on_which_the_server_hangs_delays_others_for_seconds_only() {
    let setup = MailSetup::open().await;
    setup
        .server
        .for_recipient("tar@example.com", MailFault::Hang);
    let before = Instant::now();
    let stuck = setup.request_reset("tar@example.com").await;
    for n in 0..8 {
        setup.request_reset(&format!("user{n}@example.com")).await;
    }
    for _ in 0..8 {
        setup.server.next_mail().await;
    }
    assert!(
        before.elapsed() < Duration::from_secs(15),
        "{:?}",
        before.elapsed()
    );
    let row = setup.wait_for_row(stuck, |row| row.reason.is_some()).await;
    assert_eq!(
        row.reason.as_deref(),
        Some("The mail server did not answer in time")
    );
    setup.wait_for_metric(DUPLICATES, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_sender_address_loses_no_mail() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |_, _| {}).await;
    let refused = MailFault::refuse("553 5.7.1 not your address");
    setup.server.usually(Sender, refused);
    let id = setup.request_reset("ada@example.com").await;
    let row = setup.wait_for_row(id, |row| row.reason.is_some()).await;
    let reason = "The mail server refused us as the sender: 553 5.7.1";
    assert_eq!((row.reason.as_deref(), row.attempts), (Some(reason), 0));
    setup.server.usually(Sender, None);
    manual_clock.advance(TimeDelta::seconds(61));
    setup.wait_for_state(id, "delivered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_given_up_after_the_configured_hours() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |config, _| config.smtp.give_up_hours = 10).await;
    setup
        .server
        .for_recipient("busy@example.com", MailFault::refuse("450 4.2.1 busy"));
    let busy = setup.request_reset("busy@example.com").await;
    setup
        .wait_for_row(busy, |row| row.attempts == 1 && row.reason.is_some())
        .await;
    manual_clock.advance(TimeDelta::hours(5));
    setup
        .wait_for_row(busy, |row| row.attempts == 2 && row.state != "sending")
        .await;
    manual_clock.advance(TimeDelta::hours(6));
    let row = setup.wait_for_state(busy, "failed").await;
    let reason = "The mail server refused the recipient: 450 4.2.1";
    assert_eq!(row.reason.as_deref(), Some(reason));

    setup.server.go_down().await;
    let never = setup.request_reset("ada@example.com").await;
    setup.wait_for_row(never, |row| row.reason.is_some()).await;
    manual_clock.advance(TimeDelta::hours(11));
    let row = setup.wait_for_state(never, "failed").await;
    assert!(
        row.reason
            .unwrap()
            .starts_with("The mail server could not be reached")
    );
    assert_eq!(row.payload, None);
    setup
        .wait_for_metric("mails_total{outcome=\"failed\"}", 2)
        .await;
}
