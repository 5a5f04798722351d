//! Fields of a request body that may be absent, null or set.

use serde::{Deserialize, Deserializer};

/// Distinguishes null from an absent field. Use with `#[serde(default, deserialize_with = "double_option")]`.
pub(crate) fn double_option<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
