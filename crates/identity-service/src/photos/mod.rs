//! Profile photos, which anybody can see. An uploaded file is never stored as it is: a small image is encoded anew from its
//! pixels, and only that is stored and served.

pub(crate) mod model;
pub(crate) mod processor;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod source;
pub(crate) mod upload;
mod wire;

pub(crate) use model::public_url;
