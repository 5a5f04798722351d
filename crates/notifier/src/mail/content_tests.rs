#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

const LINK: &str = "https://id.example.com/invitations/tOkEn-123";

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_248_000, 0).unwrap()
}

fn every_kind() -> [MailTemplate; 10] {
    let username = || "ada".to_owned();
    [
        MailTemplate::Invitation {
            team: "Core & Friends".to_owned(),
            invited_by: "bob".to_owned(),
            link: LINK.to_owned(),
            expires_at: at(),
        },
        MailTemplate::VerifyEmail {
            username: username(),
            link: LINK.to_owned(),
            expires_at: at(),
        },
        MailTemplate::ResetPassword {
            username: username(),
            link: LINK.to_owned(),
            expires_at: at(),
        },
        MailTemplate::NewSignIn {
            username: username(),
            at: at(),
            address: "192.0.2.7".to_owned(),
            user_agent: Some("Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0".to_owned()),
        },
        MailTemplate::CodesRefused {
            username: username(),
            at: at(),
            address: Some("192.0.2.7".to_owned()),
            user_agent: None,
        },
        MailTemplate::EmailChanged {
            username: username(),
            new_address_hint: "n…@e….org".to_owned(),
            at: at(),
        },
        MailTemplate::SecurityChanged {
            username: username(),
            what: "second factor turned off".to_owned(),
            at: at(),
        },
        chat_disabled("Beacon", "The chat answered 404"),
        webhook_disabled("the wall"),
        MailTemplate::HooksPaused {
            username: username(),
            reason: "The person who set it up no longer manages the team".to_owned(),
            hooks: vec![
                "The chat for “Beacon”".to_owned(),
                "The webhook “https://hooks.example.com”".to_owned(),
            ],
            more: 3,
            at: at(),
            link: "https://work.example.com/settings/webhooks".to_owned(),
        },
    ]
}

fn chat_disabled(project: &str, reason: &str) -> MailTemplate {
    MailTemplate::ChatSwitchedOff {
        username: "ada".to_owned(),
        project_id: 12,
        project: project.to_owned(),
        team: "Core & Friends".to_owned(),
        provider: "rocketchat".to_owned(),
        reason: reason.to_owned(),
        at: at(),
        link: "https://work.example.com/docs/".to_owned(),
    }
}

fn webhook_disabled(description: &str) -> MailTemplate {
    MailTemplate::WebhookSwitchedOff {
        username: "ada".to_owned(),
        webhook_id: 7,
        description: description.to_owned(),
        origin: "https://hooks.example.com:8443".to_owned(),
        reason: "The receiver answered 410".to_owned(),
        at: at(),
        link: "https://work.example.com/docs/".to_owned(),
    }
}

#[test]
fn each_kind_of_mail_matches_its_snapshot() {
    for text in every_kind() {
        let content = MailContent::from_template(&text).unwrap();
        let shown = format!(
            "Subject: {}\n\n{}\n{}",
            content.subject,
            content.plain().unwrap(),
            content.html().unwrap()
        );
        insta::assert_snapshot!(text.template(), shown);
    }
}

/// Makes zero-width spaces visible.
fn seen(text: &str) -> String {
    text.replace(crate::text::ZERO_WIDTH_SPACE, "|")
}

#[test]
fn names_cannot_inject_markup_lines_or_links() {
    let hostile =
        "<script>alert(1)</script>\r\nBcc: all@example.com\u{202e} http://evil.example \"'&";
    let content = MailContent::from_template(&MailTemplate::Invitation {
        team: hostile.to_owned(),
        invited_by: "a".repeat(500),
        link: LINK.to_owned(),
        expires_at: at(),
    })
    .unwrap();
    assert_eq!(
        seen(&content.subject.to_string()),
        "Invitation to the team “<script>alert(1)</script> Bcc: all@|example.|com http:|//evil.|exam…” on Holdfast"
    );
    let html = content.html().unwrap();
    assert!(!html.contains("<script") && !html.contains('\u{202e}'));
    // Only the links of the template remain.
    assert_eq!(html.matches("href=").count(), 2);
    assert_eq!(html.matches("https://").count(), 3);
    assert!(!html.contains("http://"));
    let plain = content.plain().unwrap();
    assert!(!plain.contains("\nBcc") && !plain.contains("://e"));
    assert!(plain.contains(&format!("“{}…”", "a".repeat(63))), "{plain}");
}

#[test]
fn markup_in_a_user_agent_is_shown_as_text() {
    let content = MailContent::from_template(&MailTemplate::NewSignIn {
        username: "{{ content.subject }}".to_owned(),
        at: at(),
        address: "<b>".to_owned(),
        user_agent: Some("<img src=x onerror=alert(1)>".repeat(50)),
    })
    .unwrap();
    let html = content.html().unwrap();
    assert!(!html.contains("<img") && !html.contains("<b>"));
    assert!(seen(&html).contains("{{ content.|subject }}"));
    assert!(
        content
            .facts
            .iter()
            .all(|(_, value)| value.chars().count() <= FACT_LIMIT)
    );
}

#[test]
fn texts_about_an_integration_cannot_inject_markup_or_links() {
    let hostile = "<img src=x>\r\nBcc: eve@example.com http://evil.example";
    for text in [chat_disabled(hostile, hostile), webhook_disabled(hostile)] {
        let content = MailContent::from_template(&text).unwrap();
        let (plain, html) = (content.plain().unwrap(), content.html().unwrap());
        let subject = content.subject.to_string();
        assert!(!subject.contains('\n'), "{subject}");
        assert!(
            !plain.contains("\nBcc") && !plain.contains("http://"),
            "{plain}"
        );
        assert!(
            !html.contains("<img") && !html.contains("http://"),
            "{html}"
        );
        assert_eq!(html.matches("href=").count(), 2);
    }
}

#[test]
fn a_webhook_without_a_description_is_named_by_its_number() {
    let content = MailContent::from_template(&webhook_disabled(" ")).unwrap();
    let subject = content.subject.to_string();
    assert_eq!(subject, "Your webhook with ID 7 was disabled");
}

#[test]
fn a_link_must_be_a_web_address() {
    let with = |link: &str| {
        MailContent::from_template(&MailTemplate::ResetPassword {
            username: "ada".to_owned(),
            link: link.to_owned(),
            expires_at: at(),
        })
    };
    for bad in [
        "",
        "javascript:alert(1)",
        "/reset/x",
        "data:text/html,x",
        "https://",
    ] {
        assert_eq!(with(bad).err(), Some(InvalidLink), "{bad}");
    }
    let quoted = with("https://id.example.com/r/\"><script>\n").unwrap();
    let html = quoted.html().unwrap();
    assert!(!html.contains("<script"), "{html}");
    // Local installations use plain http.
    assert!(with("http://127.0.0.1:8080/r/x").is_ok());
}
