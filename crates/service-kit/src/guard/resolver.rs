use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::AddressRules;

/// A function that resolves a name to its addresses.
pub(super) type Lookup = Arc<dyn Fn(String) -> Found + Send + Sync>;
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Resolves names by the operating system.
pub(super) fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    })
}

/// A resolver that returns only the addresses that may be called. The client connects to exactly these and does not resolve
/// again, so that a name cannot give other addresses the second time.
pub(super) struct FilteringResolver {
    lookup: Lookup,
    rules: Arc<AddressRules>,
}

impl FilteringResolver {
    pub(super) fn new(lookup: Lookup, rules: Arc<AddressRules>) -> Self {
        Self { lookup, rules }
    }
}

/// The error of a name without an allowed address, which `classify` finds inside the error of the HTTP library.
#[derive(Debug, thiserror::Error)]
#[error("the name resolves to no allowed address")]
pub(super) struct NoAllowedAddress;

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = Arc::clone(&self.rules);
        let lookup = (self.lookup)(name.as_str().to_owned());
        Box::pin(async move {
            let found = lookup.await?;
            let allowed: Vec<SocketAddr> = found
                .iter()
                .copied()
                .filter(|address| rules.may_call(address.ip()))
                .collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(NoAllowedAddress.into());
            }
            let allowed: Addrs = Box::new(allowed.into_iter());
            Ok(allowed)
        })
    }
}
