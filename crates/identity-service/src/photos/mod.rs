//! Profile photos: what anybody sees of an account besides its name. A file is never kept as it was sent:
//! what is stored and served was drawn anew, small, from its pixels.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod source;
pub(crate) mod upload;
mod wire;

pub(crate) use model::public_url;
