use auth_types::UserId;
use diesel::prelude::*;

use crate::auth::CurrentUser;

/// Who said last where a hook calls, and what with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Queryable)]
pub(crate) struct Maker {
    pub(crate) created_by: Option<UserId>,
    /// The OAuth client, if it was one.
    pub(crate) client_id: Option<String>,
    /// The sign-in that single sign-on handed over, if it was one.
    pub(crate) session_id: Option<String>,
}

impl Maker {
    pub(crate) fn of(caller: &CurrentUser) -> Self {
        // An identity service of an earlier version does not name the client or the session: the id is empty then.
        let named = |id: &Option<String>| Some(id.clone().unwrap_or_default());
        let (client_id, session_id) = match (caller.is_first_party, &caller.scope) {
            (true, _) => (caller.client_id.clone(), None),
            (false, Some(_)) => (named(&caller.client_id), None),
            (false, None) => (None, named(&caller.session_id)),
        };
        Self {
            created_by: Some(caller.id),
            client_id,
            session_id,
        }
    }

    /// Whether the caller may know and change what was made so: a client, or a sign-in that was handed over, only what it
    /// made itself.
    pub(crate) fn is_open_to(&self, caller: &CurrentUser) -> bool {
        // Two clients without a name are not the same one.
        let is_same = |ours: &Option<String>, theirs: &Option<String>| {
            ours == theirs && ours.as_ref().is_some_and(|id| !id.is_empty())
        };
        let theirs = Self::of(caller);
        caller.is_first_party
            || is_same(&self.client_id, &theirs.client_id)
            || is_same(&self.session_id, &theirs.session_id)
    }
}
