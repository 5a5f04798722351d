//! Administration of other people's accounts, by a SUPERADMIN over HTTP and by whoever is at the
//! machine's command line: the same operations, each with its entry in the audit log.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod reseal;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
