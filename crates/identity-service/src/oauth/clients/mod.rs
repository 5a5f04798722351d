//! OAuth clients: registration and authentication.

pub(crate) mod authentication;
mod changes;
pub(crate) mod config;
pub(crate) mod configured;
pub(crate) mod deletion;
mod grant_types;
pub(crate) mod lookup;
mod metadata;
pub(crate) mod model;
pub(crate) mod queries;
mod redirect_uri;
mod registration;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use changes::ClientChanges;
pub(crate) use grant_types::GrantType;
pub(crate) use metadata::{ClientMetadata, GroupsClaim, ResponseType};
pub(crate) use redirect_uri::comparable_origin;
pub(crate) use registration::NewClient;
