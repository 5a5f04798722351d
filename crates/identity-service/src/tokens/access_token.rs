//! Access tokens: JWTs after the profile of RFC 9068, signed with ES256.

use std::sync::Arc;

use auth_types::{AccessClaims, UserId};
use chrono::{DateTime, Duration, Utc};
use jsonwebtoken::{Algorithm, Header, Validation};
use service_kit::crypto::sha256;
use uuid::Uuid;

use super::key_store::KeyStore;
use crate::error::Error;
use crate::token_access::TokenAccess;

/// RFC 9068 section 2.1. It keeps ID tokens and other JWTs from being accepted as access tokens.
const TYPE: &str = "at+jwt";
/// How far the issuing replica's clock may be ahead when a token is new.
const NOT_BEFORE_LEEWAY_SECONDS: i64 = 30;
/// About 5 MB when full.
const REMEMBERED_TOKENS: usize = 20_000;

pub(crate) struct AccessTokens {
    issuer: String,
    ttl: Duration,
    keys: KeyStore,
    validation: Validation,
    /// Tokens with a verified signature, by SHA-256: the same bytes need no second verification. Time and revocation are
    /// checked at every use.
    verified: quick_cache::sync::Cache<[u8; 32], Remembered>,
}

/// A verified token, and the key generation before its verification. After a key change, the signature is verified again.
#[derive(Clone)]
struct Remembered {
    token: Arc<VerifiedToken>,
    keys: u64,
}

/// The claims of a token with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifiedToken {
    pub(crate) user_id: UserId,
    pub(crate) session_id: String,
    /// Seconds since the epoch.
    pub(crate) expires_at: i64,
    pub(crate) issued_at: i64,
    pub(crate) access: TokenAccess,
    pub(crate) not_before: i64,
    /// The token's id (RFC 7519 section 4.1.7).
    pub(crate) jti: String,
}

impl AccessTokens {
    pub(crate) fn new(issuer: String, ttl: Duration, keys: KeyStore) -> Self {
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp", "nbf"]);
        validation.set_issuer(&[&issuer]);
        validation.set_audience(&[&issuer]);
        // The library uses the system clock and one leeway for both; `check_time` does this instead.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        Self {
            issuer,
            ttl,
            keys,
            validation,
            verified: quick_cache::sync::Cache::new(REMEMBERED_TOKENS),
        }
    }

    /// Loads the keys, or creates the first one, before the first request needs them.
    pub(crate) async fn warm_up(&self) -> Result<(), Error> {
        self.keys.signing_key().await.map(drop)
    }

    pub(crate) fn keys(&self) -> &KeyStore {
        &self.keys
    }

    /// Returns the lifetime of a new token in seconds.
    pub(crate) fn expires_in(&self) -> i64 {
        self.ttl.num_seconds()
    }

    /// Signs an access token for a session.
    pub(crate) async fn issue(
        &self,
        user_id: UserId,
        session_id: &str,
        access: &TokenAccess,
        now: DateTime<Utc>,
    ) -> Result<String, Error> {
        let key = self.keys.signing_key().await?;
        let iat = now.timestamp();
        let claims = AccessClaims {
            iss: self.issuer.clone(),
            aud: self.issuer.clone(),
            sub: user_id.to_string(),
            sid: session_id.to_owned(),
            jti: Uuid::new_v4().to_string(),
            iat,
            nbf: iat,
            exp: iat + self.expires_in(),
            token_type: "access".to_owned(),
            client_id: access.client_id().map(str::to_owned),
            scope: access.scope().map(|scope| scope.to_string()),
            origin: access.origin().map(str::to_owned),
            sso_origin: access.site().map(str::to_owned),
        };
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(key.kid.clone());
        jsonwebtoken::encode(&header, &claims, &key.key)
            .map_err(|error| Error::internal("signing an access token", error))
    }

    /// Verifies signature, claims and times of a token. It does not check whether the session is still valid.
    pub(crate) async fn verify(
        &self,
        token: &str,
        now: DateTime<Utc>,
    ) -> Result<Arc<VerifiedToken>, Error> {
        let hash = sha256(token.as_bytes());
        let keys = self.keys.generation();
        let remembered = self.verified.get(&hash).filter(|known| known.keys == keys);
        let known = remembered.is_some();
        let verified = match remembered {
            Some(remembered) => remembered.token,
            None => Arc::new(self.verify_signature(token).await?),
        };
        if let Err(error) = verified.check_time(now) {
            self.verified.remove(&hash);
            return Err(error);
        }
        if !known {
            let token = Arc::clone(&verified);
            self.verified.insert(hash, Remembered { token, keys });
        }
        Ok(verified)
    }

    async fn verify_signature(&self, token: &str) -> Result<VerifiedToken, Error> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Error::InvalidToken)?;
        let typ_matches = header.typ.is_some_and(|typ| typ.eq_ignore_ascii_case(TYPE));
        let (Some(kid), true, Algorithm::ES256) = (header.kid, typ_matches, header.alg) else {
            return Err(Error::InvalidToken);
        };
        let key = self
            .keys
            .verifying_key(&kid)
            .await?
            .ok_or(Error::InvalidToken)?;
        let claims = jsonwebtoken::decode::<AccessClaims>(token, &key, &self.validation)
            .map_err(|_| Error::InvalidToken)?
            .claims;
        if claims.token_type != "access" {
            return Err(Error::InvalidToken);
        }
        let user_id = claims.user_id().ok_or(Error::InvalidToken)?;
        let (scope, origin) = (claims.scope.as_deref(), claims.origin.as_deref());
        let access = TokenAccess::of_claims(claims.client_id, scope, origin, claims.sso_origin);
        Ok(VerifiedToken {
            user_id,
            session_id: claims.sid,
            expires_at: claims.exp,
            issued_at: claims.iat,
            access: access.ok_or(Error::InvalidToken)?,
            not_before: claims.nbf,
            jti: claims.jti,
        })
    }
}

impl VerifiedToken {
    /// Creates the stand-in for a token on a request with a cookie of the hosted pages.
    pub(crate) fn of_cookie(user_id: UserId, session_id: String, expires_at: i64) -> Self {
        Self {
            user_id,
            session_id,
            expires_at,
            issued_at: 0,
            access: TokenAccess::Full,
            not_before: 0,
            jti: String::new(),
        }
    }

    fn check_time(&self, now: DateTime<Utc>) -> Result<(), Error> {
        let now = now.timestamp();
        if self.expires_at <= now {
            return Err(Error::TokenExpired);
        }
        if self.not_before > now + NOT_BEFORE_LEEWAY_SECONDS {
            return Err(Error::InvalidToken);
        }
        Ok(())
    }
}
