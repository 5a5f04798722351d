//! Paths that several parts send browsers to.

use web_kit::text::with_query;

/// Where somebody goes who came from nowhere in particular.
pub(crate) const HOME: &str = "/";
pub(crate) const SIGN_IN: &str = "/sign-in";
/// Where the identity service sends browsers back to.
pub(crate) const CALLBACK: &str = "/sign-in/callback";
/// Where somebody comes back to who had been signed out when a form of theirs arrived.
pub(crate) const RESUME: &str = "/resume";

/// Where somebody signs in and comes back to `path`.
pub(crate) fn sign_in_path(path: &str) -> String {
    with_query(SIGN_IN, &[("return_to", path)])
}
