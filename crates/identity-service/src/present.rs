//! Fields of a body that may be absent, null or given.

use serde::{Deserialize, Deserializer};

/// Tells a field that is null from one that is absent: for `#[serde(default, deserialize_with = "present")]`.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
