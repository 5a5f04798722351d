use serde::Deserialize;
use service_kit::config::{ConfigError, refuse_zeros};
use service_kit::http::Limits;

/// `[identity.limits]`: the sizes, in bytes, and times beyond which requests are rejected.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// The maximum size of a JSON body in bytes, at least 1. A larger one receives 413.
    pub json_bytes: usize,
    /// The maximum size of all headers together in bytes, at least 1. Larger ones receive 431.
    pub header_bytes: usize,
    /// Seconds within which a body must arrive, at least 1. A slower one receives 408.
    pub body_seconds: u64,
    /// MiB of memory for all bodies over 64 KiB that are received at the same time, including photos that are fetched;
    /// at least the size of the largest body. Further ones receive 503. If not set, it is 3/16 of the memory limit (the
    /// control group's, or half of the machine's memory), from 16 to 256.
    pub large_bodies_mib: Option<u32>,
    /// Connections that may be open at the same time, at least 1; further ones wait. If not set, it is one for each 128
    /// KiB of the memory limit, from 256 to 50,000.
    pub connections: Option<usize>,
    /// The maximum size of an uploaded or fetched photo in bytes, at least 1. A larger one receives 413.
    pub photo_bytes: usize,
    /// The maximum size of a profile's JSON body, photo included, in bytes, at least 1. A larger one receives 413.
    pub profile_json_bytes: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let Limits {
            json_bytes,
            header_bytes,
            body_seconds,
            large_bodies_mib,
            connections,
        } = Limits::default();
        Self {
            json_bytes,
            header_bytes,
            body_seconds,
            large_bodies_mib,
            connections,
            photo_bytes: 5 * 1024 * 1024,
            profile_json_bytes: 8 * 1024 * 1024,
        }
    }
}

impl LimitsConfig {
    /// Returns the limits that apply to every request.
    pub(crate) fn general(self) -> Limits {
        Limits {
            json_bytes: self.json_bytes,
            header_bytes: self.header_bytes,
            body_seconds: self.body_seconds,
            large_bodies_mib: self.large_bodies_mib,
            connections: self.connections,
        }
    }

    pub(super) fn check(self) -> Result<(), ConfigError> {
        let zeros = [
            ("LIMITS__PHOTO_BYTES", self.photo_bytes == 0),
            ("LIMITS__PROFILE_JSON_BYTES", self.profile_json_bytes == 0),
        ];
        refuse_zeros("IDENTITY", &zeros)?;
        refuse_zeros("IDENTITY", &self.general().zeros())?;
        let largest = self.profile_json_bytes.max(self.photo_bytes);
        let mib = self.large_bodies_mib.map(usize::try_from);
        if mib.is_some_and(|mib| mib.unwrap_or(usize::MAX).saturating_mul(1 << 20) < largest) {
            return Err(ConfigError::rule(
                "IDENTITY__LIMITS__LARGE_BODIES_MIB must be at least PROFILE_JSON_BYTES and PHOTO_BYTES",
            ));
        }
        Ok(())
    }
}
