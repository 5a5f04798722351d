use serde::Deserialize;
use service_kit::config::ConfigError;
use service_kit::http::Limits;

/// `[identity.limits]`: sizes in bytes, and slowness, that are refused.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Bytes of a JSON body: 413 beyond them.
    pub json_bytes: usize,
    /// Bytes of all header lines together: 431 beyond them.
    pub header_bytes: usize,
    /// Seconds in which a body must have arrived: 408 after them.
    pub body_seconds: u64,
    /// MiB of memory for all bodies over 64 KiB that are received at the same time, photos that are fetched among
    /// them: 503 beyond them. 3/16 of the memory limit (of the control group, else of half of the machine)
    /// when not set, 16 to 256. At least as large as the largest body.
    pub large_bodies_mib: Option<u32>,
    /// Connections that may be open at the same time; further ones wait. One for each 128 KiB of the memory
    /// limit when not set, 256 to 50,000.
    pub connections: Option<usize>,
    /// Bytes of a photo, uploaded or fetched: 413 beyond them.
    pub photo_bytes: usize,
    /// Bytes of the JSON body of a profile, which may hold a photo: 413 beyond them.
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
    /// Those that hold for every request.
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
        let Self {
            profile_json_bytes: json,
            photo_bytes: photo,
            large_bodies_mib: large,
            ..
        } = self;
        let large = large.map(|mib| usize::try_from(mib).unwrap_or(usize::MAX));
        if large.is_some_and(|mib| mib.saturating_mul(1 << 20) < json.max(photo)) {
            return Err(ConfigError::rule(
                "IDENTITY__LIMITS__LARGE_BODIES_MIB must hold PROFILE_JSON_BYTES and PHOTO_BYTES",
            ));
        }
        Ok(())
    }
}
