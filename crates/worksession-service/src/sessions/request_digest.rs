use serde::Serialize;
use service_kit::crypto::sha256;

use crate::error::Error;

/// Returns a digest that is equal for equal values. It identifies a repeated request.
pub(super) fn compute_digest(values: &impl Serialize) -> Result<String, Error> {
    let canonical = serde_json::to_vec(values).map_err(Error::internal)?;
    Ok(sha256(&canonical)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
