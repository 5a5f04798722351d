//! The types that both services and their clients share: ids, roles, scopes, token claims, the bodies of the identity
//! service that the work-session service reads, and the parser of the bearer token.
//!
//! This crate has no I/O, no web framework and no database. The `diesel` feature only lets queries bind the id types.

mod bearer;
mod claims;
mod ids;
mod roles;
mod scope;
pub mod wire;

pub use bearer::{BearerError, MAX_TOKEN_BYTES, bearer_token};
pub use claims::AccessClaims;
pub use ids::{IdError, TeamId, UserId, parse_canonical_id};
pub use roles::{AccountRole, PremiumTier, TeamRole, UnknownName};
pub use scope::{Scope, ScopeSet};

/// Re-exports for the code that [`id_type!`] generates. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "diesel")]
    pub use diesel;
    pub use serde;
    pub use utoipa;
}
