use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::{Queryable, Selectable};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::model::InvitationRow;
use crate::closed_sets::NewMemberRole;
use crate::error::Error;
use crate::pagination::{MAX_PAGE, bounds};
use crate::schema::{teams, users};
use crate::teams::wire::Team;

/// An invitation to join a team.
#[derive(Serialize, ToSchema)]
pub(crate) struct Invitation {
    #[schema(format = Uuid)]
    pub(crate) id: String,
    pub(crate) team: InvitedTo,
    /// As the inviter typed it, with an internationalised domain in its ASCII form. In lists, null for an OAuth
    /// client without the scope `email`.
    #[schema(required)]
    pub(crate) email: Option<String>,
    /// The role that the invitee gets: `member` or `admin`.
    pub(crate) role: TeamRole,
    pub(crate) status: InvitationStatus,
    /// Null if the inviter's account has been deleted.
    #[schema(required)]
    pub(crate) invited_by: Option<Inviter>,
    pub(crate) created_at: DateTime<Utc>,
    /// Seven days after the newest mail.
    pub(crate) expires_at: DateTime<Utc>,
}

/// The team of an invitation.
#[derive(Serialize, ToSchema, Queryable, Selectable)]
#[diesel(table_name = teams)]
pub(crate) struct InvitedTo {
    pub(crate) id: TeamId,
    pub(crate) slug: String,
    pub(crate) name: String,
}

/// The account that sent an invitation.
#[derive(Serialize, ToSchema, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct Inviter {
    #[diesel(column_name = id)]
    pub(crate) user_id: UserId,
    pub(crate) username: String,
}

/// The status of an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Status)]
pub(crate) enum InvitationStatus {
    /// Neither accepted nor declined yet.
    Pending,
    /// Somebody joined the team with it.
    Accepted,
    /// The invitee declined it.
    Declined,
    /// The team withdrew it.
    Revoked,
    /// It was not accepted in time.
    Expired,
}

impl InvitationStatus {
    /// Parses the stored status, which is never `expired`.
    pub(super) fn stored(text: &str) -> Result<Self, Error> {
        [Self::Pending, Self::Accepted, Self::Declined, Self::Revoked]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Error::internal("invitations.status", text))
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Declined => "declined",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

/// An invitation to be sent.
#[derive(Deserialize, ToSchema)]
pub(crate) struct InviteRequest {
    #[schema(format = Email)]
    pub(crate) email: String,
    /// `member` (the default) or `admin`, ignoring case.
    #[schema(value_type = Option<NewMemberRole>)]
    pub(crate) role: Option<String>,
}

/// An invitation that was sent.
#[derive(Serialize, ToSchema)]
pub(crate) struct InviteResponse {
    #[schema(example = "The invitation was sent")]
    pub(crate) message: &'static str,
    pub(crate) invitation: Invitation,
}

/// The team that the caller has joined.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptResponse {
    #[schema(example = "You joined the team")]
    pub(crate) message: &'static str,
    pub(crate) team: Team,
}

/// A page of invitations, newest first.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct InvitationsResponse {
    pub(crate) invitations: Vec<Invitation>,
    /// The number of invitations in the whole list, not only on this page.
    pub(crate) total: i64,
}

impl InvitationsResponse {
    /// Builds a page from rows and their total, without addresses unless the token may see them.
    pub(super) fn new(
        (rows, total): (Vec<InvitationRow>, i64),
        now: NaiveDateTime,
        sees_email: bool,
    ) -> Result<Self, Error> {
        let shown = |row: InvitationRow| {
            let mut invitation = row.into_wire(now)?;
            invitation.email = invitation.email.filter(|_| sees_email);
            Ok::<_, Error>(invitation)
        };
        let invitations = rows.into_iter().map(shown).collect::<Result<_, _>>()?;
        Ok(Self { invitations, total })
    }
}

/// Filter and page of a team's invitations.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct InvitationsQuery {
    /// Only invitations with this status; all if absent.
    #[param(inline)]
    pub(crate) status: Option<InvitationStatus>,
    /// 1 to 200; 200 if absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// The number of invitations to skip before the page.
    #[param(minimum = 0)]
    offset: Option<i64>,
}

impl InvitationsQuery {
    /// Returns the query for a page of pending invitations.
    pub(crate) fn pending(limit: i64, offset: i64) -> Self {
        Self {
            status: Some(InvitationStatus::Pending),
            limit: Some(limit),
            offset: Some(offset),
        }
    }

    /// Returns limit and offset.
    pub(super) fn bounds(&self) -> Result<(i64, i64), Error> {
        bounds(self.limit, self.offset, MAX_PAGE)
    }
}
