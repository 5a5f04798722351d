//! ID tokens that come back as `id_token_hint` (OpenID Connect Core section 3.1.2.1, RP-Initiated Logout section 2).

use auth_types::UserId;
use jsonwebtoken::Validation;
use serde::Deserialize;

use crate::app::App;
use crate::error::Error;
use crate::tokens::SigningAlgorithm;

/// The type in the header of ID tokens. Access tokens and logout tokens have others.
const TYPE: &str = "JWT";

/// An ID token that this server has issued, perhaps long ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdTokenHint {
    pub(crate) sub: UserId,
    /// The client that it was issued to.
    pub(crate) aud: String,
    /// The client's session.
    pub(crate) sid: Option<String>,
}

#[derive(Deserialize)]
struct HintClaims {
    sub: String,
    aud: String,
    sid: Option<String>,
}

/// Verifies issuer and signature of a hint, with current and retired keys. An expired token is valid, because clients keep
/// it for as long as their own sign-in lasts. Returns `None` for anything but an ID token of this server. Callers check the
/// audience.
pub(crate) async fn verify_hint(app: &App, token: &str) -> Result<Option<IdTokenHint>, Error> {
    let Ok(header) = jsonwebtoken::decode_header(token) else {
        return Ok(None);
    };
    let algorithm = SigningAlgorithm::ALL
        .into_iter()
        .find(|known| known.jwt() == header.alg);
    let (Some(algorithm), Some(kid), Some(TYPE)) = (algorithm, header.kid, header.typ.as_deref())
    else {
        return Ok(None);
    };
    let Some(key) = app.keys(algorithm).verifying_key(&kid).await? else {
        return Ok(None);
    };
    let mut validation = Validation::new(algorithm.jwt());
    validation.set_required_spec_claims(&["iss", "aud", "sub"]);
    validation.set_issuer(&[&app.base_url]);
    validation.validate_exp = false;
    validation.validate_aud = false;
    let claims = jsonwebtoken::decode::<HintClaims>(token, &key, &validation);
    Ok(claims.ok().and_then(|decoded| {
        let HintClaims { sub, aud, sid } = decoded.claims;
        let sub = sub.parse().ok()?;
        Some(IdTokenHint { sub, aud, sid })
    }))
}
