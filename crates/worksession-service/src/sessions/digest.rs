use serde::Serialize;
use service_kit::crypto::sha256;

use crate::error::Error;

/// A short text that is equal for equal values: what makes a request the same as an earlier one.
pub(super) fn digest(values: &impl Serialize) -> Result<String, Error> {
    let canonical = serde_json::to_vec(values).map_err(Error::internal)?;
    Ok(sha256(&canonical)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
