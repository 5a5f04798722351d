//! The OAuth 2.0 authorization server (RFC 6749) and OpenID Connect provider: clients, their authentication, and the access
//! that they get.

pub(crate) mod authorize;
mod claims;
pub(crate) mod clients;
mod codes;
pub(crate) mod config;
pub(crate) mod consents;
pub(crate) mod cors;
pub(crate) mod devices;
pub(crate) mod error;
pub(crate) mod form;
mod grants;
pub(crate) mod id_token;
pub(crate) mod id_token_hint;
pub(crate) mod introspection;
pub(crate) mod logout;
pub(crate) mod metadata;
mod pkce;
mod revocation;
pub(crate) mod routes;
pub(crate) mod scopes;
pub(crate) mod token;
pub(crate) mod userinfo;
pub(crate) mod wire;
