//! Many notifications in one message.

use test_kit::chat_digest;

use super::limits::check;
use super::*;

#[test]
fn a_digest_that_is_too_long_says_how_many_more_there_are() {
    let notices = vec![Words::ordinary().planned(); 500];
    for provider in ChatProvider::ALL {
        let message = body(provider, &notices);
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
    let mut notices = Vec::new();
    for index in 0..20 {
        let Notice::Planned(mut started) = Words::ordinary().planned() else {
            panic!("a plan");
        };
        started.planning_note = format!("note{index:02} and what else there is to say of it");
        notices.push(Notice::Planned(started));
    }
    for provider in ChatProvider::ALL {
        let message = body(provider, &notices).to_string();
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
        let words = Words {
            user: "u".repeat(50),
            project: sign.repeat(200),
            team: Some(sign.repeat(100)),
            category: sign.repeat(100),
            note: sign.repeat(2_000),
        };
        let notices: Vec<Notice> = (0..20)
            .map(|index| match index % 3 {
                0 => words.planned(),
                1 => words.finished("partial", 1_439),
                _ => words.abandoned(),
            })
            .collect();
        for provider in ChatProvider::ALL {
            let message = body(provider, &notices);
            check(provider, &message);
            check(provider, &body(provider, &notices[..1]));
            let text = chat_digest(provider, &message);
            let told = text.matches(" a focus session").count();
            let told = told + text.matches(" part of a focus session").count();
            let more = text.contains(" more");
            assert!(
                told >= 20 && !more,
                "{provider:?} {sign:?}: {told} in {message}"
            );
        }
    }
}
