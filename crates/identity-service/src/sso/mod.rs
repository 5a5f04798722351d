//! Single sign-on: hands a sign-in over to another site of the operator, which must be on the allow-list.

pub(crate) mod routes;
mod service;
mod wire;
