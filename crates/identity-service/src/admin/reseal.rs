use serde::Serialize;
use serde_json::json;

use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::tokens::key_rotation;
use crate::totp;

/// The result of resealing.
#[derive(Debug, Serialize)]
pub(crate) struct ResealCounts {
    pub(crate) signing_keys: usize,
    pub(crate) second_factors: usize,
    /// Second factors that no configured key can open; their owners cannot sign in.
    pub(crate) not_opened: usize,
}

/// Reseals with the current encryption key everything that older keys have sealed, so that those can be removed from
/// the configuration. An interrupted run can be repeated.
pub(crate) async fn reseal(app: &App, context: &RequestContext) -> Result<ResealCounts, Error> {
    let signing_keys = key_rotation::reseal(app).await?;
    let totp::ResealedFactors { done, unopened } = totp::reseal(app).await?;
    if signing_keys + done > 0 {
        let details = json!({ "signing_keys": signing_keys, "second_factors": done });
        let entry = NewAuditEntry::new(AuditAction::KEYS_RESEALED).details(details);
        app.transact(context, move |tx| tx.audit(&entry)).await?;
    }
    Ok(ResealCounts {
        signing_keys,
        second_factors: done,
        not_opened: unopened,
    })
}
