//! Types that both services and their clients agree on: ids, roles, claims, the bodies of the
//! identity area that the work-session area reads, and how a bearer token is found in a request.
//!
//! What it is not: there is no I/O, no web framework and no database here; the `diesel` feature
//! only lets the id types be bound in queries.

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

/// What [`id_type!`] needs from other crates; not meant to be named directly.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "diesel")]
    pub use diesel;
    pub use serde;
    pub use utoipa;
}
