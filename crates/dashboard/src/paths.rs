//! Paths to which several modules send browsers.

use web_kit::text::with_query;

/// The page for visitors who have no other destination.
pub(crate) const HOME: &str = "/";
pub(crate) const SIGN_IN: &str = "/sign-in";
/// The path to which the identity service sends browsers back.
pub(crate) const CALLBACK: &str = "/sign-in/callback";
/// The path that shows a saved form, once its sender has signed in again.
pub(crate) const RESUME: &str = "/resume";

/// Returns the path of a sign-in that leads back to `path`.
pub(crate) fn sign_in_path(path: &str) -> String {
    with_query(SIGN_IN, &[("return_to", path)])
}
