//! The OAuth 2.0 authorization server (RFC 6749) and OpenID Connect provider: who may ask for access to
//! accounts, how they show who they are, and what they are given.

mod claims;
pub(crate) mod clients;
pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod id_token;
pub(crate) mod introspection;
pub(crate) mod metadata;
mod revocation;
pub(crate) mod routes;
pub(crate) mod userinfo;
pub(crate) mod wire;
