use auth_types::wire::ExistenceQuestion;
use auth_types::{TeamId, TeamRole, UserId};
use chrono::NaiveDateTime;
use event_types::{Event, EventData, MembershipChanged, SessionRevoked, TeamChanged, UserChanged};
use uuid::Uuid;

use crate::integrations::LostAccess;

/// A change that the identity service reports.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IdentityEvent {
    /// Cached data of the user is outdated.
    User(UserId),
    /// Sessions ended, clients lost access, or the account is deactivated.
    LostAccess(LostAccess),
    /// The account is deleted.
    UserDeleted(UserId),
    /// The user's role in a team changed.
    Member {
        user: UserId,
        team: TeamId,
        /// Whether the role allows changes of what belongs to the team.
        manages: bool,
    },
    /// A team is created, renamed or deleted.
    Team {
        id: TeamId,
        name: String,
        at: NaiveDateTime,
        deleted: bool,
    },
}

impl IdentityEvent {
    /// Decodes an event.
    ///
    /// # Errors
    /// Why the event can never be decoded. The reason is shown with the dead letter.
    pub(super) fn decode(event: &Event) -> Result<(Uuid, Self), String> {
        let change = match event.event_type.as_str() {
            UserChanged::TYPE => event.data_as().map(|data: UserChanged| {
                let user = data.user_id;
                match (data.deleted, data.is_active) {
                    (true, _) => Self::UserDeleted(user),
                    (false, false) => Self::LostAccess(LostAccess::Account { user }),
                    (false, true) => Self::User(user),
                }
            }),
            MembershipChanged::TYPE => {
                event.data_as().map(|data: MembershipChanged| Self::Member {
                    user: data.user_id,
                    team: data.team.id,
                    manages: data.role.is_some_and(|role| role >= TeamRole::Admin),
                })
            }
            SessionRevoked::TYPE => event.data_as().map(|data: SessionRevoked| {
                Self::LostAccess(LostAccess::Credentials {
                    user: data.user_id,
                    clients: data.clients,
                    sessions: data.sids,
                })
            }),
            TeamChanged::TYPE => event.data_as().map(|data: TeamChanged| Self::Team {
                id: data.team.id,
                name: data.team.name,
                at: event.time.naive_utc(),
                deleted: data.deleted,
            }),
            other => return Err(format!("unknown event type {other}")),
        };
        Ok((event.id, change.map_err(|cause| cause.to_string())?))
    }

    /// Returns what the identity service must confirm before the change is applied; none unless it removes something.
    pub(super) fn existence_question(&self) -> Option<ExistenceQuestion> {
        let (user_id, team_id) = match self {
            Self::UserDeleted(user) => (Some(*user), None),
            Self::Team {
                id, deleted: true, ..
            } => (None, Some(*id)),
            Self::Member {
                user,
                team,
                manages: false,
            } => (Some(*user), Some(*team)),
            Self::User(_) | Self::LostAccess(_) | Self::Member { .. } | Self::Team { .. } => {
                return None;
            }
        };
        Some(ExistenceQuestion {
            user_id,
            team_id,
            session_id: None,
        })
    }

    /// Returns the access that the creators of integrations may have lost.
    pub(super) fn lost_access(&self) -> Option<LostAccess> {
        Some(match self {
            Self::LostAccess(lost) => lost.clone(),
            Self::UserDeleted(user) => LostAccess::Account { user: *user },
            Self::Member {
                user,
                team,
                manages: false,
            } => LostAccess::Role {
                user: *user,
                team: *team,
            },
            Self::User(_) | Self::Member { .. } | Self::Team { .. } => return None,
        })
    }

    /// Returns the user that the change concerns.
    pub(super) fn user(&self) -> Option<UserId> {
        match self {
            Self::User(user) | Self::UserDeleted(user) | Self::Member { user, .. } => Some(*user),
            Self::LostAccess(lost) => Some(lost.user()),
            Self::Team { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use event_types::TeamRef;

    use super::*;

    fn body<T: EventData>(data: &T) -> String {
        let event = Event::new(Uuid::nil(), "identity", DateTime::UNIX_EPOCH, None, data)
            .expect("serialises");
        event.encode().expect("short")
    }

    fn read(body: &[u8]) -> Result<(Uuid, IdentityEvent), String> {
        let event = Event::decode(body).map_err(|cause| cause.to_string())?;
        IdentityEvent::decode(&event)
    }

    fn user_changed(deleted: bool) -> UserChanged {
        let user_id = UserId::new(7).expect("positive");
        UserChanged {
            user_id,
            deleted,
            is_active: !deleted,
        }
    }

    #[test]
    fn every_identity_event_decodes() {
        let user_id = UserId::new(7).expect("positive");
        let id = TeamId::new(3).expect("positive");
        let team = TeamRef {
            id,
            slug: "engines".into(),
            name: "Engines".into(),
        };
        let sids = vec!["one".to_owned()];
        let membership = |role| {
            let team = team.clone();
            body(&MembershipChanged {
                user_id,
                team,
                role,
            })
        };
        let body_of = |deleted| {
            let team = team.clone();
            body(&TeamChanged { team, deleted })
        };
        let team_changed = |deleted| IdentityEvent::Team {
            id,
            name: "Engines".into(),
            at: DateTime::UNIX_EPOCH.naive_utc(),
            deleted,
        };
        let member = |manages| IdentityEvent::Member {
            user: user_id,
            team: id,
            manages,
        };
        for (body, change) in [
            (body(&user_changed(false)), IdentityEvent::User(user_id)),
            (
                body(&user_changed(true)),
                IdentityEvent::UserDeleted(user_id),
            ),
            (
                body(&UserChanged {
                    is_active: false,
                    ..user_changed(false)
                }),
                IdentityEvent::LostAccess(LostAccess::Account { user: user_id }),
            ),
            (membership(Some(TeamRole::Admin)), member(true)),
            (membership(Some(TeamRole::Member)), member(false)),
            (membership(None), member(false)),
            (
                body(&SessionRevoked {
                    user_id,
                    sids,
                    clients: vec!["app".to_owned()],
                }),
                IdentityEvent::LostAccess(LostAccess::Credentials {
                    user: user_id,
                    clients: vec!["app".to_owned()],
                    sessions: vec!["one".to_owned()],
                }),
            ),
            (body_of(false), team_changed(false)),
            (body_of(true), team_changed(true)),
        ] {
            assert_eq!(read(body.as_bytes()), Ok((Uuid::nil(), change)));
        }
    }

    #[test]
    fn an_unreadable_identity_event_is_refused() {
        let good = body(&user_changed(true));
        let other_version = good.replace("user_changed.v1", "user_changed.v2");
        let foreign = good.replace("identity.user_changed.v1", "session.started.v1");
        let no_user = good.replace("\"user_id\":7", "\"user_id\":0");
        for text in [&other_version, &foreign, &no_user, "", "{}", "[]", "\u{0}"] {
            assert_ne!(text, good);
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
