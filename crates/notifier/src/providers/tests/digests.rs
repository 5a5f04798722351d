//! Many notifications in one message.

use test_kit::chat_digest;

use super::limits::check;
use super::*;

#[test]
fn a_digest_that_is_too_long_says_how_many_more_there_are() {
    let notifications = vec![UserInput::ordinary().planned(); 500];
    for provider in ChatProvider::ALL {
        let message = body(provider, &notifications);
        let text = chat_digest(provider, &message);
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.iter().filter(|line| line.contains("ada")).count();
        assert!((5..500).contains(&shown), "{provider:?} {shown}");
        let rest = format!("… and {} more", 500 - shown);
        assert!(
            lines.last().unwrap().ends_with(&rest),
            "{provider:?} {lines:?}"
        );
    }
}

/// Twenty is the most that a digest joins.
#[test]
fn each_of_twenty_notifications_has_its_line_in_a_digest() {
    let mut notifications = Vec::new();
    for index in 0..20 {
        let Notification::Planned(mut started) = UserInput::ordinary().planned() else {
            panic!("a plan");
        };
        started.planning_note = format!("note{index:02} and what else there is to say of it");
        notifications.push(Notification::Planned(started));
    }
    for provider in ChatProvider::ALL {
        let message = body(provider, &notifications).to_string();
        for index in 0..20 {
            let note = format!("note{index:02}");
            assert!(message.contains(&note), "{provider:?}: {note} in {message}");
        }
    }
}

/// The longest possible names, of characters that each chat escapes.
#[test]
fn each_of_twenty_notifications_has_its_line_in_a_digest_whatever_users_typed() {
    for sign in ["a", "*", "<", "`", "\u{1F345}", "_", "\"", "\\", "漢"] {
        let input = UserInput {
            user: "u".repeat(50),
            project: sign.repeat(200),
            team: Some(sign.repeat(100)),
            category: sign.repeat(100),
            note: sign.repeat(2_000),
        };
        let notifications: Vec<Notification> = (0..20)
            .map(|index| match index % 3 {
                0 => input.planned(),
                1 => input.finished("partial", 1_439),
                _ => input.abandoned(),
            })
            .collect();
        for provider in ChatProvider::ALL {
            let message = body(provider, &notifications);
            check(provider, &message);
            check(provider, &body(provider, &notifications[..1]));
            let text = chat_digest(provider, &message);
            let lines = text.matches(" a focus session").count();
            let lines = lines + text.matches(" part of a focus session").count();
            let more = text.contains(" more");
            assert!(
                lines >= 20 && !more,
                "{provider:?} {sign:?}: {lines} in {message}"
            );
        }
    }
}
