use crate::error::Error;
use crate::sessions::record::{RecordRow, SessionRecord};

pub(super) const HEAD: &[u8] = br#"{"success":true,"sessions":["#;
pub(super) const TAIL: &[u8] = b"]}";

/// Encodes the sessions as elements of the array, with a comma before each but the file's first.
pub(super) fn elements(rows: Vec<RecordRow>, is_first: bool) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    for (n, row) in rows.into_iter().enumerate() {
        if n > 0 || !is_first {
            text.push(b',');
        }
        serde_json::to_writer(&mut text, &SessionRecord::from(row)).map_err(Error::internal)?;
    }
    Ok(text)
}
