//! ID tokens that come back as `id_token_hint` (OpenID Connect Core section 3.1.2.1, RP-Initiated Logout section 2).

use auth_types::UserId;
use jsonwebtoken::Validation;
use jsonwebtoken::dangerous::insecure_decode_claims;
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

/// The outcome of verifying a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HintCheck {
    Valid(IdTokenHint),
    /// The token names this server as its issuer, but a key that is unknown, perhaps because its successor has long been in
    /// use. Nothing proves what the token says.
    UnknownKey {
        aud: String,
    },
    /// Anything but an ID token of this server.
    Invalid,
}

#[derive(Deserialize)]
struct HintClaims {
    iss: String,
    sub: String,
    aud: String,
    sid: Option<String>,
}

/// Verifies issuer and signature of a hint, with current and retired keys. An expired token is valid, because clients keep
/// it for as long as their own sign-in lasts. Callers check the audience.
pub(crate) async fn verify_hint(app: &App, token: &str) -> Result<HintCheck, Error> {
    let Ok(header) = jsonwebtoken::decode_header(token) else {
        return Ok(HintCheck::Invalid);
    };
    let algorithm = SigningAlgorithm::ALL
        .into_iter()
        .find(|known| known.jwt() == header.alg);
    let (Some(algorithm), Some(kid), Some(TYPE)) = (algorithm, header.kid, header.typ.as_deref())
    else {
        return Ok(HintCheck::Invalid);
    };
    let Some(key) = app.keys(algorithm).verifying_key(&kid).await? else {
        return Ok(match insecure_decode_claims::<HintClaims>(token) {
            Ok(claims) if claims.iss == *app.base_url => HintCheck::UnknownKey { aud: claims.aud },
            _ => HintCheck::Invalid,
        });
    };
    let mut validation = Validation::new(algorithm.jwt());
    validation.set_required_spec_claims(&["iss", "aud", "sub"]);
    validation.set_issuer(&[&app.base_url]);
    validation.validate_exp = false;
    validation.validate_aud = false;
    let claims = jsonwebtoken::decode::<HintClaims>(token, &key, &validation);
    let hint = claims.ok().and_then(|decoded| {
        let HintClaims { sub, aud, sid, .. } = decoded.claims;
        let sub = sub.parse().ok()?;
        Some(IdTokenHint { sub, aud, sid })
    });
    Ok(hint.map_or(HintCheck::Invalid, HintCheck::Valid))
}
