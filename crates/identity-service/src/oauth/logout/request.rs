//! Logout requests (OpenID Connect RP-Initiated Logout section 2), and what they ask for.

use std::borrow::Cow;

use auth_types::UserId;
use db_kit::Db;
use url::Url;

use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::oauth::authorize::Parameters;
use crate::oauth::clients;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::id_token_hint::{HintCheck, IdTokenHint, verify_hint};
use crate::sessions;

/// The parameters that this endpoint reads. All others are ignored, `logout_hint` and `ui_locales` too.
const KNOWN: [&str; 4] = [
    "id_token_hint",
    "client_id",
    "post_logout_redirect_uri",
    "state",
];

/// The maximum length of a request as a query, in bytes. A posted one becomes a query, too.
const MAX_QUERY_BYTES: usize = 12 * 1024;

/// Parses the parameters of a query or a form.
pub(super) fn parse(text: &str) -> Parameters {
    Parameters::parse_known(text, &KNOWN)
}

/// # Errors
/// A sentence if the request is too long.
pub(super) fn check_length(parameters: &Parameters) -> Result<(), &'static str> {
    match parameters.query().len() {
        0..=MAX_QUERY_BYTES => Ok(()),
        _ => Err("The request is too long"),
    }
}

/// A valid logout request.
pub(super) struct LogoutRequest {
    /// The client that asks. Without a hint, anybody can name it.
    pub(super) client: Option<OAuthClient>,
    hint: Option<IdTokenHint>,
    /// Where the browser goes afterwards.
    pub(super) redirect: Option<Url>,
}

/// Validates a request. The inner error is a sentence for the user, because the browser must not be redirected.
pub(super) async fn read(
    app: &App,
    parameters: &Parameters,
) -> Result<Result<LogoutRequest, Cow<'static, str>>, Error> {
    if let Err(why) = check_length(parameters) {
        return Ok(Err(why.into()));
    }
    if let Some((name, _)) = parameters.unreadable() {
        let why = format!("The parameter {name} is given twice, or is not plain text");
        return Ok(Err(why.into()));
    }
    let (hint, audience) = match parameters.value("id_token_hint") {
        Some(token) => match verify_hint(app, token).await? {
            HintCheck::Valid(hint) => (Some(hint.clone()), Some(hint.aud)),
            // Ignored: it only must not contradict the other parameters.
            HintCheck::UnknownKey { aud } => (None, Some(aud)),
            HintCheck::Invalid => {
                return Ok(Err(
                    "The id_token_hint is not an ID token of this server".into()
                ));
            }
        },
        None => (None, None),
    };
    let named = parameters.value("client_id");
    if let (Some(audience), Some(named)) = (&audience, named)
        && audience != named
    {
        return Ok(Err("The id_token_hint was issued to another client".into()));
    }
    let client_id = hint.as_ref().map(|hint| hint.aud.as_str()).or(named);
    let client = match client_id {
        Some(id) => clients::service::find_client(app, id).await?,
        None => None,
    };
    if client_id.is_some() && client.is_none() {
        return Ok(Err("There is no client with this client_id".into()));
    }
    let redirect = match &client {
        // Only the ignored hint names the client.
        None if audience.is_some() => Ok(None),
        client => find_redirect(client.as_ref(), parameters),
    };
    Ok(match redirect {
        Ok(redirect) => Ok(LogoutRequest {
            client,
            hint,
            redirect,
        }),
        Err(why) => Err(why.into()),
    })
}

/// Returns the registered address that the browser goes to, with `state`.
fn find_redirect(
    client: Option<&OAuthClient>,
    parameters: &Parameters,
) -> Result<Option<Url>, &'static str> {
    let Some(given) = parameters.value("post_logout_redirect_uri") else {
        return Ok(None);
    };
    let client = client.ok_or("post_logout_redirect_uri requires id_token_hint or client_id")?;
    let unregistered = "The post_logout_redirect_uri is not registered for this client";
    if !client.allows_post_logout_redirect(given) {
        return Err(unregistered);
    }
    let mut url = Url::parse(given).map_err(|_| unregistered)?;
    if let Some(state) = parameters.value("state") {
        url.query_pairs_mut().append_pair("state", state);
    }
    Ok(Some(url))
}

impl LogoutRequest {
    /// Returns the client's session that the hint names, with the client's id, if it belongs to this user.
    pub(super) fn client_session(&self, user_id: UserId) -> Option<(String, String)> {
        let hint = self.hint.as_ref().filter(|hint| hint.sub == user_id)?;
        Some((hint.sid.clone()?, hint.aud.clone()))
    }

    /// Returns the user of the hint, if it names a session that a logout would end.
    pub(super) async fn user_of_hint(&self, app: &App) -> Result<Option<UserId>, Error> {
        let user_id = self.hint.as_ref().map(|hint| hint.sub);
        let session = user_id.and_then(|id| Some((id, self.client_session(id)?)));
        let Some((user_id, (id, client_id))) = session else {
            return Ok(None);
        };
        let find = move |db: &mut Db| {
            sessions::queries::find_client_session(db, user_id, (&id, &client_id))
        };
        Ok(app.read(find).await?.map(|_| user_id))
    }

    /// Whether the hint names a session that the user authorized in this sign-in. Only the client holds such a hint, so the
    /// user need not be asked.
    pub(super) async fn has_hint_of_sign_in(
        &self,
        app: &App,
        user: &CurrentUser,
    ) -> Result<bool, Error> {
        let Some((id, client_id)) = self.client_session(user.account.id) else {
            return Ok(false);
        };
        let sign_in = user.token.session_id.clone();
        app.read(move |db| sessions::queries::is_authorized_by(db, (&id, &client_id), &sign_in))
            .await
    }
}
