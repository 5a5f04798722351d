use auth_types::wire::TokenPair;
use service_kit::names::is_readable;
use url::{Url, form_urlencoded};

use super::wire::{CallbackQuery, CallbackResponse};
use crate::app::App;
use crate::auth::{self, CurrentUser};
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::sessions::{self, derived_session};
use crate::token_access::{Grant, TokenAccess};

/// The maximum length of the label of a site, in characters.
const MAX_SERVICE_CHARS: usize = 64;
/// The parameters that a hand-over adds. It drops others of these names, because the site would trust them.
const OWN_PARAMETERS: [&str; 6] = [
    "token",
    "access_token",
    "user_id",
    "username",
    "profile_photo_url",
    "has_profile_photo",
];

/// Opens a session for the site, and returns the address with its token.
pub(super) async fn open_sso_session(
    app: &App,
    caller: &CurrentUser,
    mut target: Url,
    service: Option<&str>,
    context: &RequestContext,
) -> Result<Url, Error> {
    let service = label(service, &target)?;
    let grant = Grant::Sso {
        service: Some(service),
        site: Some(target.origin().ascii_serialization()),
    };
    let session = derived_session::open_derived_session(app, caller, grant, context).await?;
    let account = &caller.account;
    let now = app.clock.now();
    let access = session.grant.access();
    let token = app.tokens.issue(account.id, &session.id, &access, now);
    let token = token.await?;

    let mut query = form_urlencoded::Serializer::new(String::new());
    let kept = target.query_pairs();
    query.extend_pairs(kept.filter(|(name, _)| !OWN_PARAMETERS.contains(&name.as_ref())));
    query
        .append_pair("token", &token)
        .append_pair("access_token", &token)
        .append_pair("user_id", &account.id.to_string())
        .append_pair("username", &account.username);
    if let Some(photo) = account.photo_url(&app.base_url) {
        query
            .append_pair("profile_photo_url", &photo)
            .append_pair("has_profile_photo", "true");
    }
    target.set_query(Some(&query.finish()));
    target.set_fragment(None);
    Ok(target)
}

fn label(service: Option<&str>, target: &Url) -> Result<String, Error> {
    let given = service.map(str::trim).filter(|text| !text.is_empty());
    let text = given.or(target.host_str()).unwrap_or_default();
    if !is_readable(text) || (given.is_some() && text.chars().count() > MAX_SERVICE_CHARS) {
        return Err(Error::Validation(
            "service must have at most 64 characters, without control, invisible or bidirectional formatting characters".into(),
        ));
    }
    Ok(text.to_owned())
}

/// Opens a session from the caller's own, and returns its tokens. An SSO session gives another SSO session.
pub(super) async fn exchange(
    app: &App,
    caller: &CurrentUser,
    context: &RequestContext,
) -> Result<TokenPair, Error> {
    let grant = match &caller.token.access {
        TokenAccess::Sso { site } => {
            let sid = caller.token.session_id.clone();
            let find = app.read(move |db| sessions::queries::find_service(db, &sid));
            Grant::Sso {
                service: find.await?,
                site: site.clone(),
            }
        }
        TokenAccess::Full => Grant::FirstParty,
        TokenAccess::Client(_) => return Err(Error::InsufficientScope),
    };
    let session = derived_session::open_derived_session(app, caller, grant, context).await?;
    session.token_pair(app, &caller.account).await
}

/// Checks that the parameters of a mini-app are genuine: the token is valid and belongs to the named account.
pub(super) async fn check(app: &App, query: CallbackQuery) -> Result<CallbackResponse, Error> {
    let token = match (query.token, query.access_token) {
        (Some(token), Some(same)) if token == same => token,
        (Some(token), None) | (None, Some(token)) => token,
        _ => return Err(Error::InvalidToken),
    };
    let caller = auth::identify_token(app, &token).await?;
    // The token of an OAuth client must not sign its user in here.
    if matches!(caller.token.access, TokenAccess::Client(_)) {
        return Err(Error::InvalidToken);
    }
    // A token that was issued for one site must not sign anybody in at another.
    let site = caller.token.access.site();
    let mut named = [query.redirect_uri, query.origin].into_iter().flatten();
    if !named.all(|address| site.is_some_and(|site| origin_of(&address).as_deref() == Some(site))) {
        return Err(Error::InvalidToken);
    }
    let account = &caller.account;
    let is_own = query.user_id.is_some_and(|id| id.parse() == Ok(account.id))
        && query
            .username
            .is_some_and(|name| name.trim() == account.username);
    if !is_own {
        return Err(Error::InvalidToken);
    }
    Ok(CallbackResponse {
        success: true,
        user_id: account.id,
        username: account.username.clone(),
        token,
    })
}

fn origin_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    Some(url.origin().ascii_serialization())
}
