//! Single sign-on: a sign-in handed over to another site of the operator's, which the allow-list names.

pub(crate) mod routes;
mod service;
mod wire;
