use std::collections::HashSet;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use service_kit::Clock;
use test_kit::MailFault;
use test_kit::MailStage::{Content, Greeting, Recipient, Sender};

use crate::mail_kit::{Office, now};

const DELIVERED: &str = "mails_total{outcome=\"delivered\"}";
const DUPLICATES: &str = "mail_possible_duplicates_total";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_down_gets_every_mail_once_and_no_mail_loses_attempts() {
    let (clock, hand) = Clock::manual(now());
    let office = Office::open_with(clock, |_, _| {}).await;
    office.server.go_down().await;
    let mut ids = Vec::new();
    for n in 0..25 {
        ids.push(office.ask_for(&format!("user{n}@example.com")).await);
    }
    office.taken_in(25).await;
    let unreached = "The mail server could not be reached";
    for _ in 0..4 {
        office.tried_in_vain().await;
        hand.advance(TimeDelta::seconds(61));
    }
    for row in office.rows() {
        let reason = row.reason.unwrap_or_else(|| unreached.to_owned());
        assert!(reason.starts_with(unreached), "{reason}");
    }
    office.server.come_back().await;
    hand.advance(TimeDelta::seconds(61));
    let rows = office.all_settled(25).await;
    assert!(
        rows.iter()
            .all(|row| row.state == "delivered" && row.attempts == 1),
        "{rows:?}"
    );
    let mails = office.server.mails();
    let to: HashSet<&str> = mails.iter().map(|mail| mail.to[0].as_str()).collect();
    assert_eq!((mails.len(), to.len()), (25, 25));
    // One connection probed the server, and at most four followed.
    assert!(
        office.server.connections() <= 5,
        "{}",
        office.server.connections()
    );
    office.figure_is(DUPLICATES, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_mail_server_is_probed_with_one_mail_at_a_time() {
    let (clock, hand) = Clock::manual(now());
    let office = Office::open_with(clock, |_, _| {}).await;
    let busy = || MailFault::refuse("421 4.3.2 come later");
    office.server.usually(Greeting, busy());
    let first = office.ask_for("first@example.com").await;
    office.row_when(first, |row| row.reason.is_some()).await;
    for n in 0..10 {
        office.ask_for(&format!("user{n}@example.com")).await;
    }
    office.taken_in(11).await;
    for knocks in 2..=4 {
        hand.advance(TimeDelta::seconds(61));
        office.tried_in_vain().await;
        assert_eq!(office.server.connections(), knocks);
    }
    // Enough time for further connections, of which there must be none.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(office.server.connections(), 4);
    office.server.usually(Greeting, None);
    hand.advance(TimeDelta::seconds(61));
    office.all_settled(11).await;
    assert_eq!(office.server.mails().len(), 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_recipient_fails_alone_and_for_good() {
    let office = Office::open().await;
    let unknown = MailFault::refuse("550 5.1.1 <gone@example.com>: no such user");
    office.server.for_recipient("gone@example.com", unknown);
    let mut others = Vec::new();
    for n in 0..6 {
        others.push(office.ask_for(&format!("user{n}@example.com")).await);
        if n == 3 {
            let gone = office.ask_for("gone@example.com").await;
            let row = office.row_in(gone, "failed").await;
            let reason = "The mail server refused the recipient: 550 5.1.1";
            assert_eq!(row.reason.as_deref(), Some(reason));
            assert_eq!((row.payload, row.attempts), (None, 1));
        }
    }
    for id in others {
        office.row_in(id, "delivered").await;
    }
    office.figure_is("mails_total{outcome=\"failed\"}", 1).await;
    office.figure_is(DELIVERED, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_content_fails_for_good_and_a_busy_mailbox_is_retried() {
    let (clock, hand) = Clock::manual(now());
    let office = Office::open_with(clock, |_, _| {}).await;
    office
        .server
        .script(Content, [MailFault::refuse("554 5.7.1 looks like spam")]);
    let spam = office.ask_for("ada@example.com").await;
    let row = office.row_in(spam, "failed").await;
    assert_eq!(
        row.reason.as_deref(),
        Some("The mail server refused the mail: 554 5.7.1")
    );

    let later = || MailFault::refuse("450 4.7.1 greylisted");
    office.server.script(Recipient, [later(), later()]);
    let grey = office.ask_for("bob@example.com").await;
    office.row_when(grey, |row| row.reason.is_some()).await;
    // No other mail waits for it.
    let free = office.ask_for("eve@example.com").await;
    office.row_when(free, |row| row.reason.is_some()).await;
    let third = office.ask_for("third@example.com").await;
    office.row_in(third, "delivered").await;
    assert_eq!(office.row(grey).state, "pending");
    hand.advance(TimeDelta::seconds(3));
    for id in [grey, free] {
        assert_eq!(office.row_in(id, "delivered").await.attempts, 2);
    }
    office.figure_is("mail_retries_total", 2).await;
    office.figure_is(DUPLICATES, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_possibly_accepted_mail_is_counted_and_sent_again_under_the_same_id() {
    for fault in [MailFault::Drop, MailFault::Hang] {
        let (clock, hand) = Clock::manual(now());
        let office = Office::open_with(clock, |_, _| {}).await;
        office.server.script(Content, [fault]);
        let id = office.ask_for("ada@example.com").await;
        let first = office.server.next_mail().await;
        office.figure_is(DUPLICATES, 1).await;
        hand.advance(TimeDelta::seconds(3));
        let second = office.server.next_mail().await;
        assert_eq!(first.raw, second.raw);
        assert_eq!(
            first.header("Message-ID"),
            format!("<{id}@holdfast.example>")
        );
        office.row_in(id, "delivered").await;
        office.figure_is(DELIVERED, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_on_which_the_server_hangs_delays_others_for_seconds_only() {
    let office = Office::open().await;
    office
        .server
        .for_recipient("tar@example.com", MailFault::Hang);
    let before = Instant::now();
    let stuck = office.ask_for("tar@example.com").await;
    for n in 0..8 {
        office.ask_for(&format!("user{n}@example.com")).await;
    }
    for _ in 0..8 {
        office.server.next_mail().await;
    }
    assert!(
        before.elapsed() < Duration::from_secs(15),
        "{:?}",
        before.elapsed()
    );
    let row = office.row_when(stuck, |row| row.reason.is_some()).await;
    assert_eq!(
        row.reason.as_deref(),
        Some("The mail server did not answer in time")
    );
    office.figure_is(DUPLICATES, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_sender_address_loses_no_mail() {
    let (clock, hand) = Clock::manual(now());
    let office = Office::open_with(clock, |_, _| {}).await;
    let refused = MailFault::refuse("553 5.7.1 not your address");
    office.server.usually(Sender, refused);
    let id = office.ask_for("ada@example.com").await;
    let row = office.row_when(id, |row| row.reason.is_some()).await;
    let reason = "The mail server refused us as the sender: 553 5.7.1";
    assert_eq!((row.reason.as_deref(), row.attempts), (Some(reason), 0));
    office.server.usually(Sender, None);
    hand.advance(TimeDelta::seconds(61));
    office.row_in(id, "delivered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_given_up_after_the_configured_hours() {
    let (clock, hand) = Clock::manual(now());
    let office = Office::open_with(clock, |config, _| config.smtp.give_up_hours = 10).await;
    office
        .server
        .for_recipient("busy@example.com", MailFault::refuse("450 4.2.1 busy"));
    let busy = office.ask_for("busy@example.com").await;
    office
        .row_when(busy, |row| row.attempts == 1 && row.reason.is_some())
        .await;
    hand.advance(TimeDelta::hours(5));
    office
        .row_when(busy, |row| row.attempts == 2 && row.state != "sending")
        .await;
    hand.advance(TimeDelta::hours(6));
    let row = office.row_in(busy, "failed").await;
    let reason = "The mail server refused the recipient: 450 4.2.1";
    assert_eq!(row.reason.as_deref(), Some(reason));

    office.server.go_down().await;
    let never = office.ask_for("ada@example.com").await;
    office.row_when(never, |row| row.reason.is_some()).await;
    hand.advance(TimeDelta::hours(11));
    let row = office.row_in(never, "failed").await;
    assert!(
        row.reason
            .unwrap()
            .starts_with("The mail server could not be reached")
    );
    assert_eq!(row.payload, None);
    office.figure_is("mails_total{outcome=\"failed\"}", 2).await;
}
