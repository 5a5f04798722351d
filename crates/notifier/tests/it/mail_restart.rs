use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use notifier::Config;
use service_kit::Clock;
use test_kit::MailStage::{Content, Data, Recipient};
use test_kit::{MailFault, wait_until};

use crate::kit::TIMEOUT;
use crate::mail_kit::{MailSetup, logged_text, now, reset};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undelivered_mail_waits_in_the_database_for_the_next_start() {
    let mut setup = MailSetup::open().await;
    setup.server.go_down().await;
    let id = setup.request_reset("ada@example.com").await;
    setup.wait_for_row(id, |row| row.reason.is_some()).await;
    setup.stage.stop().await;
    let row = setup.row(id);
    assert_eq!(row.state, "pending");
    setup.server.come_back().await;
    setup.stage.start().await;
    assert_eq!(setup.server.next_mail().await.to, ["ada@example.com"]);
    setup.wait_for_state(id, "delivered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_process_does_not_wait_for_a_mail_that_has_not_left() {
    let mut setup = MailSetup::open_with(Clock::system(), |config, _| {
        config.smtp.timeout_seconds = 60;
    })
    .await;
    setup.server.script(Recipient, [MailFault::Hang]);
    let id = setup.request_reset("ada@example.com").await;
    wait_until("the mail on its way", TIMEOUT, async || {
        (setup.server.reached(Recipient) == 1).then_some(())
    })
    .await;
    let before = Instant::now();
    setup.stage.stop().await;
    assert!(
        before.elapsed() < Duration::from_secs(5),
        "{:?}",
        before.elapsed()
    );
    let row = setup.row(id);
    assert_eq!((row.state.as_str(), row.attempts), ("pending", 0));
    setup.stage.start().await;
    setup.wait_for_state(id, "delivered").await;
    assert_eq!(setup.server.mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_process_waits_for_the_response_to_a_mail_that_has_left() {
    let mut setup = MailSetup::open_with(Clock::system(), |config, _| {
        config.smtp.timeout_seconds = 60;
    })
    .await;
    setup.server.script(Content, [MailFault::Hang]);
    let id = setup.request_reset("ada@example.com").await;
    setup.server.next_mail().await;
    let before = Instant::now();
    setup.stage.stop().await;
    let took = before.elapsed();
    assert!(
        (Duration::from_secs(7)..Duration::from_secs(12)).contains(&took),
        "{took:?}"
    );
    let row = setup.row(id);
    assert_eq!((row.state.as_str(), row.attempts), ("pending", 1));
    assert_eq!(
        row.reason.as_deref(),
        Some("The mail server did not answer in time")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_was_sending_is_sent_again_as_a_possible_duplicate() {
    let mut setup = MailSetup::open().await;
    setup
        .server
        .script(Data, [MailFault::refuse("451 4.3.0 later")]);
    let id = setup.request_reset("ada@example.com").await;
    setup.wait_for_row(id, |row| row.reason.is_some()).await;
    setup.stage.stop().await;
    // The state after `kill -9` between the server's response and its record, once the lease has expired.
    setup.stage.execute(
        "UPDATE deliveries SET state = 'sending', next_attempt_at = created_at; \
         UPDATE destinations SET lease_owner = 'dead', due_at = updated_at, free_at = updated_at",
    );
    setup.stage.start().await;
    setup.wait_for_state(id, "delivered").await;
    setup
        .wait_for_metric("mail_possible_duplicates_total", 1)
        .await;
    assert_eq!(setup.server.mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_mail_server_a_mail_becomes_a_file_whose_name_is_logged() {
    let (clock, _hand) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |config, _| config.smtp.url = None).await;
    let link = "https://id.example.com/reset/f1le-t0ken";
    let id = setup
        .request_mail("someone@files.example", reset(link))
        .await;
    let row = setup.wait_for_state(id, "delivered").await;
    assert_eq!(row.payload, None);
    let folder = setup.folder.path().join("mail");
    let name = format!("20261121T080000Z-reset_password-{id}.eml");
    let names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, [name.as_str()]);
    let file = fs::read_to_string(folder.join(&name)).unwrap();
    assert!(file.contains("To: someone@files.example\r\n") && file.contains("f1le-t0ken"));
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(folder.clone()), mode(folder.join(&name))),
        (0o700, 0o600)
    );
    let logged_text = logged_text();
    assert!(logged_text.contains(&format!(
        "INFO no mail server is configured: stored the mail as {name}"
    )));
    assert!(!logged_text.contains("files.example") && !logged_text.contains("f1le-t0ken"));
    assert!(setup.server.mails().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mails_wait_while_the_mail_folder_cannot_be_written() {
    let setup = MailSetup::open_with(Clock::system(), |config, _| config.smtp.url = None).await;
    let folder = setup.folder.path().join("mail");
    fs::write(&folder, "in the way").unwrap();
    let id = setup.request_reset("ada@example.com").await;
    setup.wait_for_row(id, |row| row.reason.is_some()).await;
    fs::remove_file(&folder).unwrap();
    setup.wait_for_state(id, "delivered").await;
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn an_unusable_mail_configuration_is_refused_and_its_key_named() {
    let refused = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    };
    let url = refused(|config| config.smtp.url = Some("smtp://u:hunter2@/x".into()));
    assert!(
        url.contains("NOTIFIER__SMTP__URL") && !url.contains("hunter2"),
        "{url}"
    );
    let from = refused(|config| config.smtp.from = "hunter2".to_owned());
    assert!(
        from.contains("NOTIFIER__SMTP__FROM") && !from.contains("hunter2"),
        "{from}"
    );
    assert!(refused(|config| config.smtp.give_up_hours = 0).contains("GIVE_UP_HOURS"));
    assert!(refused(|config| config.smtp.timeout_seconds = 0).contains("TIMEOUT_SECONDS"));
    assert!(![url, from].concat().contains('\n'));
    assert!(Config::default().check().is_ok());
}
