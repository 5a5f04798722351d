use std::collections::HashSet;

use chrono::TimeDelta;
use event_types::MailTemplate;
use service_kit::Clock;
use test_kit::MailFault;
use test_kit::MailStage::{Sender, SignIn};
use uuid::Uuid;

use crate::mail_kit::{MailSetup, logged_text, now, requested, reset, sealed_with};

const LINK: &str = "https://id.example.com/x/t0ken-1";

fn every_kind() -> [MailTemplate; 6] {
    let (username, link) = ("ada".to_owned(), LINK.to_owned());
    let (at, expires_at) = (now(), now() + TimeDelta::days(7));
    [
        MailTemplate::Invitation {
            team: "Core".to_owned(),
            invited_by: "bob".to_owned(),
            link: link.clone(),
            expires_at,
        },
        MailTemplate::VerifyEmail {
            username: username.clone(),
            link: link.clone(),
            expires_at,
        },
        MailTemplate::ResetPassword {
            username: username.clone(),
            link,
            expires_at,
        },
        MailTemplate::NewSignIn {
            username: username.clone(),
            at,
            address: "192.0.2.7".to_owned(),
            user_agent: None,
        },
        MailTemplate::EmailChanged {
            username: username.clone(),
            new_address_hint: "n…@…".to_owned(),
            at,
        },
        MailTemplate::SecurityChanged {
            username,
            what: "password".to_owned(),
            at,
        },
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_mail_has_a_text_and_an_html_part_and_its_link() {
    let (clock, _hand) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |_, _| {}).await;
    for text in every_kind() {
        let has_link = serde_json::to_value(&text).unwrap()["link"].is_string();
        let template = text.template();
        let id = setup.request_mail("ada@example.com", text).await;
        let mail = setup.server.next_mail().await;
        assert_eq!(
            (mail.from.as_str(), mail.to.as_slice()),
            (
                "no-reply@holdfast.example",
                &["ada@example.com".to_owned()][..]
            )
        );
        let (plain, html) = (mail.text(), mail.html());
        assert!(
            plain.contains("Holdfast") && html.contains("<table"),
            "{template}"
        );
        assert_eq!(plain.contains(&format!("\n{LINK}")), has_link, "{plain}");
        let links = html.matches(&format!("href=\"{LINK}\"")).count();
        assert_eq!(links, if has_link { 2 } else { 0 }, "{html}");
        assert!(mail.subject().contains("Holdfast"));
        assert_eq!(
            mail.header("Message-ID"),
            format!("<{id}@holdfast.example>")
        );
        assert_eq!(mail.header("Date"), "Sat, 21 Nov 2026 08:00:00 +0000");
        assert_eq!(mail.header("Auto-Submitted"), "auto-generated");
        assert_eq!(mail.header("From"), "Holdfast <no-reply@holdfast.example>");
        assert_eq!(mail.header("Reply-To"), "");
        let row = setup.wait_for_state(id, "delivered").await;
        assert_eq!((row.attempts, row.payload, row.reason), (1, None, None));
    }
    setup
        .wait_for_metric("mails_total{outcome=\"delivered\"}", 6)
        .await;
    setup.wait_for_metric("mail_retries_total", 0).await;
    setup
        .stage
        .api()
        .get("/health/ready")
        .send()
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_name_adds_no_header_no_recipient_and_no_markup() {
    let setup = MailSetup::open().await;
    let invitation = |team: &str| MailTemplate::Invitation {
        team: team.to_owned(),
        invited_by: "<b>bob</b>\r\n.\r\nMAIL FROM:<eve@example.com>".to_owned(),
        link: LINK.to_owned(),
        expires_at: now(),
    };
    setup
        .request_mail("ada@example.com", invitation("Core"))
        .await;
    let usual = setup.server.next_mail().await.header_names();
    let hostile = "x\r\nBcc: eve@example.com\r\n\r\n<img src=//evil.example>\r\n.\r\n";
    setup
        .request_mail("ada@example.com", invitation(hostile))
        .await;
    let mail = setup.server.next_mail().await;
    assert_eq!(mail.header_names(), usual);
    assert_eq!(mail.to, ["ada@example.com"]);
    assert!(!mail.html().contains("<img") && !mail.html().contains("<b>"));
    assert_eq!(mail.text().matches(LINK).count(), 1);
    assert_eq!(setup.server.mails().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivered_mail_request_is_sent_once() {
    let setup = MailSetup::open().await;
    let (id, mail) = (Uuid::now_v7(), requested("ada@example.com", reset(LINK)));
    for _ in 0..5 {
        setup.stage.publish_event_as(id, &mail).await;
    }
    setup.request_reset("last@example.com").await;
    setup.wait_until_settled(2).await;
    // As the broker does if the notifier dies before its acknowledgement.
    setup.stage.publish_event_as(id, &mail).await;
    setup.request_reset("very-last@example.com").await;
    setup.wait_until_settled(3).await;
    let mails = setup.server.mails();
    let to: HashSet<&str> = mails.iter().map(|mail| mail.to[0].as_str()).collect();
    assert_eq!((mails.len(), to.len()), (3, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_send_each_mail_once_over_few_connections() {
    let setup = MailSetup::open().await;
    let second = setup.stage.start_process().await;
    for n in 0..60 {
        setup.request_reset(&format!("user{n}@example.com")).await;
    }
    let rows = setup.wait_until_settled(60).await;
    assert!(
        rows.iter()
            .all(|row| row.state == "delivered" && row.attempts == 1)
    );
    let mails = setup.server.mails();
    let ids: HashSet<String> = mails.iter().map(|mail| mail.header("Message-ID")).collect();
    assert_eq!((mails.len(), ids.len()), (60, 60));
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_limits_mails_per_connection_gets_them_on_several() {
    let setup = MailSetup::open().await;
    setup.server.at_most(3);
    for n in 0..20 {
        setup.request_reset(&format!("user{n}@example.com")).await;
    }
    let rows = setup.wait_until_settled(20).await;
    assert!(
        rows.iter()
            .all(|row| row.state == "delivered" && row.attempts == 1)
    );
    assert_eq!(setup.server.mails().len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_with_non_ascii_letters_gets_its_mail() {
    let setup = MailSetup::open().await;
    setup.request_reset("jörg@bücher.example").await;
    let mail = setup.server.next_mail().await;
    assert_eq!(mail.to, ["jörg@xn--bcher-kva.example"]);
    assert!(mail.text().contains("t0ken"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_notifier_signs_in_at_a_mail_server_if_it_has_a_password() {
    let setup = MailSetup::open_with(Clock::system(), |config, server| {
        server.require_sign_in("holdfast", "hunter2");
        config.smtp.url = Some(server.url_as("holdfast", "hunter2").as_str().into());
    })
    .await;
    setup.request_reset("ada@example.com").await;
    let mail = setup.server.next_mail().await;
    assert_eq!(mail.user.as_deref(), Some("holdfast"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_smtp_password_loses_no_mail_and_is_logged_as_an_error() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |config, server| {
        server.require_sign_in("holdfast", "hunter2");
        config.smtp.url = Some(server.url_as("holdfast", "wr0ng-w0rd").as_str().into());
    })
    .await;
    let ids = [
        setup.request_reset("ada@example.com").await,
        setup.request_reset("bob@example.com").await,
    ];
    let seen = |reason: &Option<String>| {
        reason.as_deref() == Some("The mail server refused our sign-in: 535 5.7.8")
    };
    setup.wait_for_row(ids[0], |row| seen(&row.reason)).await;
    assert!(logged_text().contains("ERROR mails are delayed until NOTIFIER__SMTP__URL"));
    assert!(!logged_text().contains("wr0ng-w0rd"));
    assert_eq!(setup.server.reached(Sender), 0);
    // The mail server accepts the password now.
    setup.server.require_sign_in("holdfast", "wr0ng-w0rd");
    manual_clock.advance(TimeDelta::seconds(61));
    let rows = setup.wait_until_settled(2).await;
    assert!(
        rows.iter()
            .all(|row| row.state == "delivered" && row.attempts == 1)
    );
    assert_eq!(setup.server.mails().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_encrypted_if_the_server_offers_it() {
    let setup = MailSetup::open().await;
    setup.server.offer_tls();
    setup.request_reset("ada@example.com").await;
    assert!(setup.server.next_mail().await.encrypted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_required_tls_nothing_is_sent_in_clear_or_to_an_unverified_server() {
    for offered in [true, false] {
        let setup = MailSetup::open_with(Clock::system(), |config, server| {
            server.require_sign_in("holdfast", "hunter2");
            if offered {
                server.offer_tls();
            }
            let url = format!("{}?tls=required", server.url_as("holdfast", "hunter2"));
            config.smtp.url = Some(url.as_str().into());
        })
        .await;
        let id = setup.request_reset("ada@example.com").await;
        let row = setup.wait_for_row(id, |row| row.reason.is_some()).await;
        let reason = row.reason.unwrap();
        let cause = if offered { "certificate" } else { "STARTTLS" };
        assert!(reason.contains(cause), "{reason}");
        assert_eq!(
            setup.server.reached(SignIn) + setup.server.reached(Sender),
            0
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_mail_request_is_dead_lettered_with_a_reason_that_reveals_nothing() {
    let setup = MailSetup::open().await;
    let good = requested("ada@example.com", reset(LINK));
    let odd = |template: &str, sealed: &str| serde_json::json!({ "template": template, "sealed": sealed });
    let script = requested("ada@example.com", reset("javascript:secret"));
    let cases = [
        (serde_json::json!({ "to": "secret" }), "decode"),
        (odd("newsletter", &good.sealed), "newsletter"),
        (odd("reset_password", "secret"), "not a sealed value"),
        (odd("reset_password", "v2.x.\u{0}"), "not sealed text"),
        (odd("invitation", &good.sealed), "does not open"),
        (odd("reset_password", &script.sealed), "web address"),
    ];
    for (data, expected) in cases {
        if let Some(reason) = setup.publish_invalid(data).await {
            assert!(reason.contains(expected), "{reason}");
            assert!(
                !reason.contains("secret") && !reason.contains("example"),
                "{reason}"
            );
        }
    }
    setup.request_reset("after@example.com").await;
    assert_eq!(setup.server.next_mail().await.to, ["after@example.com"]);
    assert_eq!(setup.rows().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_to_a_bad_recipient_is_a_failed_delivery_and_no_dead_letter() {
    let setup = MailSetup::open().await;
    for to in [
        "secret-at-example.com",
        "eve@example.com\r\nRCPT TO:<ada@example.com>",
        ".secret@example.com",
        "secret..secret@example.com",
    ] {
        let id = setup.stage.publish_event(&requested(to, reset(LINK))).await;
        let row = setup.wait_for_state(id, "failed").await;
        let reason = "The mail cannot be sent: the recipient is not a mail address";
        assert_eq!(row.reason.as_deref(), Some(reason), "{to:?}");
    }
    setup.request_reset("after@example.com").await;
    assert_eq!(setup.server.next_mail().await.to, ["after@example.com"]);
    assert_eq!(setup.server.reached(Sender), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_whose_key_is_missing_waits_until_the_operator_configures_it() {
    let (clock, manual_clock) = Clock::manual(now());
    let mut setup = MailSetup::open_with(clock, |_, _| {}).await;
    let other = [9; 32];
    let mail = sealed_with(other, "ada@example.com", reset(LINK));
    let id = setup.stage.publish_event(&mail).await;
    let row = setup.wait_for_state(id, "locked").await;
    assert!(row.reason.unwrap().contains("not configured"));
    assert!(logged_text().contains(&format!("ERROR the mail {id} is delayed")));
    // Longer than any mail is tried.
    for attempts in 2..=5 {
        manual_clock.advance(TimeDelta::hours(73));
        setup
            .wait_for_row(id, |row| row.attempts == attempts && row.state == "locked")
            .await;
    }
    // It does not block other mails.
    setup.request_reset("bob@example.com").await;
    assert_eq!(setup.server.next_mail().await.to, ["bob@example.com"]);
    setup.stage.stop().await;
    let old = service_kit::config::SecretKey::new(other);
    setup.stage.config.secrets.encryption_keys_old.0.push(old);
    setup.stage.start().await;
    assert_eq!(setup.server.next_mail().await.to, ["ada@example.com"]);
    setup.wait_for_state(id, "delivered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_recipients_nor_links_are_in_the_log_or_in_the_table() {
    let (clock, manual_clock) = Clock::manual(now());
    let setup = MailSetup::open_with(clock, |_, _| {}).await;
    setup.server.for_recipient(
        "gone@private.example",
        MailFault::refuse("550 5.1.1 <gone@private.example> unknown"),
    );
    setup.server.for_recipient(
        "later@private.example",
        MailFault::refuse("450 4.2.1 <later@private.example> busy"),
    );
    let link = "https://private.example/reset/s3cret-t0ken";
    let mut ids = Vec::new();
    for to in ["ada", "gone", "later"] {
        ids.push(
            setup
                .request_mail(&format!("{to}@private.example"), reset(link))
                .await,
        );
    }
    setup.wait_for_state(ids[1], "failed").await;
    setup.wait_for_row(ids[2], |row| row.reason.is_some()).await;
    manual_clock.advance(TimeDelta::hours(80));
    for row in setup.wait_until_settled(3).await {
        assert_eq!(row.payload, None);
        assert!(!format!("{row:?}").contains("private"), "{row:?}");
    }
    for secret in ["private.example", "s3cret-t0ken"] {
        assert!(!logged_text().contains(secret), "{secret}");
    }
    let metrics = setup.stage.api().get("/metrics").send().await.text();
    assert!(!metrics.contains("private"));
}
