use thiserror::Error;

/// A token longer than this is refused unread.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Why a request carries no usable bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BearerError {
    /// There is no Authorization header, or it is of another scheme.
    #[error("no bearer token")]
    Missing,
    /// There are two headers, an empty or overlong token, or characters that RFC 6750 section 2.1 does not allow.
    #[error("malformed bearer token")]
    Malformed,
}

/// Finds the bearer token in a request's `Authorization` headers (RFC 6750 section 2.1; the scheme in any case).
///
/// # Errors
/// [`BearerError::Missing`] without a bearer header, [`BearerError::Malformed`] when what is there cannot be one token.
pub fn bearer_token<'a>(
    mut authorization: impl Iterator<Item = &'a [u8]>,
) -> Result<&'a str, BearerError> {
    let header = authorization.next().ok_or(BearerError::Missing)?;
    // Two headers could be read differently by a proxy and by us.
    if authorization.next().is_some() {
        return Err(BearerError::Malformed);
    }
    let header = std::str::from_utf8(header).map_err(|_| BearerError::Malformed)?;
    let (scheme, rest) = header
        .trim_matches(' ')
        .split_once(' ')
        .unwrap_or((header.trim_matches(' '), ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(BearerError::Missing);
    }
    let token = rest.trim_matches(' ');
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    if token.is_empty() || token.len() > MAX_TOKEN_BYTES || !token.bytes().all(allowed) {
        return Err(BearerError::Malformed);
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[&'static str]) -> Result<&'static str, BearerError> {
        bearer_token(headers.iter().map(|h| h.as_bytes()))
    }

    #[test]
    fn the_scheme_is_read_in_any_case() {
        for header in ["Bearer a.b-c_d", "bearer a.b-c_d", "BEARER   a.b-c_d "] {
            assert_eq!(read(&[header]), Ok("a.b-c_d"), "{header}");
        }
    }

    #[test]
    fn what_is_no_single_token_is_refused() {
        assert_eq!(read(&[]), Err(BearerError::Missing));
        assert_eq!(read(&["Basic YTpi"]), Err(BearerError::Missing));
        assert_eq!(read(&["Bearer a", "Bearer a"]), Err(BearerError::Malformed));
        for header in ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer ü"] {
            assert_eq!(read(&[header]), Err(BearerError::Malformed), "{header}");
        }
        let long = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES + 1));
        assert_eq!(
            bearer_token(std::iter::once(long.as_bytes())),
            Err(BearerError::Malformed)
        );
    }
}
