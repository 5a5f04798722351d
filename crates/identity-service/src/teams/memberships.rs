//! The teams of an account, as tokens and other services learn them.

use std::sync::Arc;

use auth_types::UserId;
use auth_types::wire::TeamMembership;

use super::model::MembershipRow;
use super::queries;
use crate::app::App;
use crate::error::Error;

/// Returns the teams of an account, from the cache while the change feed is alive.
pub(crate) async fn list_memberships(
    app: &App,
    user_id: UserId,
) -> Result<Arc<[TeamMembership]>, Error> {
    let ticket = app.cache.ticket();
    if let Some(known) = ticket.and_then(|ticket| app.cache.teams(ticket, user_id)) {
        return Ok(known);
    }
    let rows = app
        .read(move |db| queries::list_memberships(db, user_id))
        .await?;
    let teams: Arc<[TeamMembership]> = rows
        .into_iter()
        .map(MembershipRow::into_wire)
        .collect::<Result<_, _>>()?;
    if let Some(ticket) = ticket {
        app.cache.insert_teams(ticket, user_id, &teams);
    }
    Ok(teams)
}
