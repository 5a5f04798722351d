//! Notifications with ordinary and hostile user input.

use chrono::{DateTime, TimeDelta};
use event_types::{SessionProject, SessionUser};
use uuid::Uuid;

use super::*;

/// The user input for messages about sessions, for a test and for a digest.
#[derive(Debug, Clone)]
pub(super) struct UserInput {
    pub(super) user: String,
    pub(super) project: String,
    pub(super) team: Option<String>,
    pub(super) category: String,
    pub(super) note: String,
}

impl UserInput {
    pub(super) fn ordinary() -> Self {
        Self {
            user: "ada".to_owned(),
            project: "Apollo".to_owned(),
            team: Some("Core".to_owned()),
            category: "coding".to_owned(),
            note:
                "Write the parser_table\n- see https://issues.example/browse/A_7?x=1&y=2\n1. tests"
                    .to_owned(),
        }
    }

    /// Text that mentions, links, formats, breaks out or imitates in some chat.
    pub(super) fn hostile() -> Self {
        Self {
            user: "@here".to_owned(),
            project: "A<b>\n*bob* started a focus session @room".to_owned(),
            team: Some("</team> @**all**".to_owned()),
            category: "<!subteam^S1>".to_owned(),
            note: "<!channel> <!here|x> @everyone @all <@U024BE7LH> <@!42> <@&7> <#9> <t:0:R> \
                   <https://evil.example|your bank> [your bank](https://evil.example) ![x](https://evil.example/x.png)\n\
                   > *ada* finished\u{202e}\r\n# Title\n-# small\n---\n~town-square #general #**stream** @_**bob** \
                   :smile: ||spoiler|| $$x$$ \\(x\\) <b>bold</b> <img src=x onerror=alert(1)>\n\
                   & &lt;!channel&gt; &#64;all ```code\n``` `tick` __u__ ~~s~~ \\"
                .to_owned(),
        }
    }

    fn project(&self) -> SessionProject {
        SessionProject {
            id: "team_3".to_owned(),
            name: self.project.clone(),
            kind: "team".to_owned(),
            team_id: "5".parse().ok(),
            team_name: self.team.clone(),
        }
    }

    fn user(&self) -> SessionUser {
        SessionUser {
            id: "7".parse().unwrap(),
            username: self.user.clone(),
        }
    }

    pub(super) fn planned(&self) -> Notification {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        Notification::Planned(SessionStarted {
            session_id: Uuid::nil(),
            user: self.user(),
            project: self.project(),
            category: self.category.clone(),
            planned_duration: 50,
            planning_note: self.note.clone(),
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
        })
    }

    pub(super) fn finished(&self, status: &str, minutes: i32) -> Notification {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        Notification::Finished(SessionSubmitted {
            session_id: Uuid::nil(),
            user: self.user(),
            project: self.project(),
            category: self.category.clone(),
            planned_duration: 50,
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
            status: status.to_owned(),
            credited_minutes: minutes,
            points_awarded: 52.5,
            streak: 3,
            submitted_at: at + TimeDelta::minutes(51),
        })
    }

    pub(super) fn abandoned(&self) -> Notification {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        Notification::Abandoned(SessionAbandoned {
            session_id: Uuid::nil(),
            user: self.user(),
            project: self.project(),
            category: self.category.clone(),
            planned_duration: 50,
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
            reason: "not_submitted".to_owned(),
        })
    }

    pub(super) fn test(&self) -> Notification {
        Notification::Test(ChatTestRequested {
            test_id: Uuid::nil(),
            project_id: 3,
            project_name: self.project.clone(),
            revision: 1,
            requested_by: self.user.clone(),
            channel: "focus".to_owned(),
        })
    }

    /// Returns each message that can be made of it.
    pub(super) fn messages(&self) -> Vec<(&'static str, Vec<Notification>)> {
        let digest = vec![
            self.planned(),
            self.finished("completed", 50),
            self.abandoned(),
        ];
        vec![
            ("planned", vec![self.planned()]),
            ("finished", vec![self.finished("completed", 50)]),
            ("partial", vec![self.finished("partial", 20)]),
            ("abandoned", vec![self.abandoned()]),
            ("test", vec![self.test()]),
            ("digest", digest),
        ]
    }
}
