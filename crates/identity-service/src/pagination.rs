//! Page sizes of lists.

use crate::error::Error;

/// The default number of entries on a page.
pub(crate) const PAGE: u16 = 50;
/// The maximum number of entries on a page.
pub(crate) const MAX_PAGE: u16 = 200;

/// Returns the requested page size, or the default. A limit outside 1 to 200 is a validation error.
pub(crate) fn page_size(limit: Option<u16>) -> Result<u16, Error> {
    match limit.unwrap_or(PAGE) {
        limit @ 1..=MAX_PAGE => Ok(limit),
        _ => Err(Error::Validation("limit must be 1 to 200".into())),
    }
}

/// Returns limit and offset of a list that is paged by offset, with `usual` as the default limit.
pub(crate) fn bounds(
    limit: Option<i64>,
    offset: Option<i64>,
    usual: u16,
) -> Result<(i64, i64), Error> {
    let (limit, offset) = (limit.unwrap_or(usual.into()), offset.unwrap_or(0));
    if !(1..=i64::from(MAX_PAGE)).contains(&limit) || offset < 0 {
        return Err(Error::Validation(
            "limit must be 1 to 200, and offset must not be negative".into(),
        ));
    }
    Ok((limit, offset))
}
