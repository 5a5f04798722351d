//! Extractors and routes whose errors are [`Problem`](crate::Problem)s.

mod body;
mod budget;
mod client_ip;
mod endpoint;
mod forwarded;
mod internal_secret;
mod join_url;
mod json;
mod loopback;
mod params;
mod request_id;

pub use body::{Json, Limits, OptionalJson, SlowBodyCheck, UnreadBody};
pub use budget::{BodyBudget, BodyHolder, BodyPermit};
pub use client_ip::{ClientIp, TrustedProxies};
pub use endpoint::{Endpoint, endpoint};
pub use internal_secret::InternalSecret;
pub use join_url::join_url;
pub use loopback::is_loopback;
pub use params::{FromSegments, Path, Query};
pub use request_id::RequestId;
