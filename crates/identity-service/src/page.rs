//! How much of a list is answered at once.

use crate::error::Error;

/// Entries when nobody says how many.
pub(crate) const PAGE: u16 = 50;
/// The most.
pub(crate) const MAX_PAGE: u16 = 200;

/// How many entries are asked for.
pub(crate) fn page_size(limit: Option<u16>) -> Result<u16, Error> {
    match limit.unwrap_or(PAGE) {
        limit @ 1..=MAX_PAGE => Ok(limit),
        _ => Err(Error::Validation("limit must be 1 to 200".into())),
    }
}

/// How many entries after how many, of a list that is paged by number.
pub(crate) fn bounds(
    limit: Option<i64>,
    offset: Option<i64>,
    usual: u16,
) -> Result<(i64, i64), Error> {
    let (limit, offset) = (limit.unwrap_or(usual.into()), offset.unwrap_or(0));
    if !(1..=i64::from(MAX_PAGE)).contains(&limit) || offset < 0 {
        return Err(Error::Validation(
            "limit must be 1 to 200 and offset not negative".into(),
        ));
    }
    Ok((limit, offset))
}
