//! Single sign-on: where a browser may be sent to.

pub(crate) mod origins;
