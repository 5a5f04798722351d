use auth_types::UserId;
use diesel::prelude::*;

use crate::auth::CurrentUser;

/// The creator of an integration: who configured it last, and with which credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Queryable)]
pub(crate) struct IntegrationCreator {
    pub(crate) created_by: Option<UserId>,
    /// The OAuth client, if there was one.
    pub(crate) client_id: Option<String>,
    /// The SSO session, if there was one.
    pub(crate) session_id: Option<String>,
}

impl IntegrationCreator {
    pub(crate) fn new(caller: &CurrentUser) -> Self {
        // An identity service of an earlier version reports neither client nor session; the id is then empty.
        let id_or_empty = |id: &Option<String>| Some(id.clone().unwrap_or_default());
        let (client_id, session_id) = match (caller.is_first_party, &caller.scope) {
            (true, _) => (caller.client_id.clone(), None),
            (false, Some(_)) => (id_or_empty(&caller.client_id), None),
            (false, None) => (None, id_or_empty(&caller.session_id)),
        };
        Self {
            created_by: Some(caller.id),
            client_id,
            session_id,
        }
    }

    /// Whether the caller may see and change the integration. A third-party client or SSO session may only if it created the
    /// integration itself.
    pub(crate) fn is_open_to(&self, caller: &CurrentUser) -> bool {
        // Two clients without an id are not the same one.
        let is_same = |ours: &Option<String>, theirs: &Option<String>| {
            ours == theirs && ours.as_ref().is_some_and(|id| !id.is_empty())
        };
        let theirs = Self::new(caller);
        caller.is_first_party
            || is_same(&self.client_id, &theirs.client_id)
            || is_same(&self.session_id, &theirs.session_id)
    }
}
