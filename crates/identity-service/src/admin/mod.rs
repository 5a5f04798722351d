//! Administration of accounts, by a SUPERADMIN over HTTP or from the machine's command line. Both run the same
//! operations and write the same audit entries.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod reseal;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
