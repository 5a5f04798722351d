use auth_types::{TeamId, TeamRole, UserId};
use chrono::{NaiveDateTime, TimeDelta};
use diesel::prelude::*;
use secrecy::SecretString;
use uuid::Uuid;

use super::wire::{Invitation, InvitationStatus, InvitedTo, Inviter};
use crate::error::Error;
use crate::mail_links;
use crate::schema::invitations;

/// The lifetime of an invitation, counted from its newest mail.
pub(super) const LIFE: TimeDelta = TimeDelta::days(7);

/// The reference to an invitation in a path.
pub(crate) enum InvitationRef {
    /// Its id, which is no secret.
    Id(String),
    /// The hash of the token in its mail.
    Token(String),
}

impl InvitationRef {
    /// Parses a path segment. Anything that is not an id may be a token.
    pub(crate) fn parse(text: String) -> Self {
        match invitation_id(&text) {
            Some(id) => Self::Id(id),
            None => Self::Token(mail_links::hash(&SecretString::from(text))),
        }
    }
}

/// Returns the id in its canonical form, or `None` for any other text.
pub(super) fn invitation_id(text: &str) -> Option<String> {
    const HYPHENATED: usize = 36;
    let id = Uuid::try_parse(text).ok()?;
    (text.len() == HYPHENATED).then(|| id.to_string())
}

/// A new, pending row of `invitations`.
#[derive(Insertable)]
#[diesel(table_name = invitations)]
pub(super) struct NewInvitation<'a> {
    pub(super) id: &'a str,
    pub(super) team_id: i64,
    pub(super) email: &'a str,
    pub(super) email_lower: &'a str,
    pub(super) role: &'static str,
    pub(super) status: &'static str,
    pub(super) token_hash: &'a str,
    pub(super) invited_by: i64,
    pub(super) created_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
}

/// The columns of an invitation that accepting or declining it needs.
#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations)]
pub(super) struct OpenInvitation {
    pub(super) id: String,
    pub(super) team_id: TeamId,
    pub(super) email_lower: String,
    role: String,
    pub(super) invited_by: Option<UserId>,
}

impl OpenInvitation {
    pub(super) fn role(&self) -> Result<TeamRole, Error> {
        stored_role(&self.role)
    }
}

/// An invitation with its team, and with the inviter if that account still exists.
#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations)]
pub(super) struct InvitationRow {
    id: String,
    #[diesel(embed)]
    team: InvitedTo,
    email: String,
    role: String,
    status: String,
    #[diesel(embed)]
    invited_by: Option<Inviter>,
    created_at: NaiveDateTime,
    expires_at: NaiveDateTime,
}

impl InvitationRow {
    /// Returns the invitation as it is at `now`. Expiry follows from the time alone.
    pub(super) fn into_wire(self, now: NaiveDateTime) -> Result<Invitation, Error> {
        let status = match self.status.as_str() {
            "pending" if self.expires_at <= now => InvitationStatus::Expired,
            stored => InvitationStatus::stored(stored)?,
        };
        Ok(Invitation {
            id: self.id,
            team: self.team,
            email: Some(self.email),
            role: stored_role(&self.role)?,
            status,
            invited_by: self.invited_by,
            created_at: self.created_at.and_utc(),
            expires_at: self.expires_at.and_utc(),
        })
    }
}

fn stored_role(text: &str) -> Result<TeamRole, Error> {
    text.parse()
        .map_err(|error| Error::internal("invitations.role", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hyphenated_uuid_is_an_invitation_id() {
        let id = "0198f0a2-5c1e-7cc0-8a3b-1f2e3d4c5b6a";
        assert_eq!(invitation_id(id).as_deref(), Some(id));
        assert_eq!(invitation_id(&id.to_uppercase()).as_deref(), Some(id));
        let bare = id.replace('-', "");
        let urn = format!("urn:uuid:{id}");
        for text in [
            "",
            "1",
            &bare,
            &urn,
            "Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9",
        ] {
            assert_eq!(invitation_id(text), None, "{text}");
        }
    }
}
