use thiserror::Error;

/// The longest bearer token that is read, in bytes.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Why a request carries no usable bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BearerError {
    /// The `Authorization` header is missing or has another scheme.
    #[error("no bearer token")]
    Missing,
    /// There are two headers, or the token is empty, too long or has characters that RFC 6750 section 2.1 does not allow.
    #[error("malformed bearer token")]
    Malformed,
}

/// Returns the bearer token of a request's `Authorization` headers (RFC 6750 section 2.1). The scheme is case-insensitive.
///
/// # Errors
/// [`BearerError::Missing`] without a bearer header; [`BearerError::Malformed`] when the header is not a single valid token.
pub fn bearer_token<'a>(
    mut authorization: impl Iterator<Item = &'a [u8]>,
) -> Result<&'a str, BearerError> {
    let header = authorization.next().ok_or(BearerError::Missing)?;
    // A proxy and this server could each use a different one of two headers.
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
