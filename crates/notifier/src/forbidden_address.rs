//! Reasons for addresses that the operator's settings do not allow.

use service_kit::guard::GuardError;

/// Returns why the address is forbidden and which setting would allow it; none for other errors. Callers retry such
/// an address, so that a process that was once started without its settings disables no destination.
pub(crate) fn forbidden_reason(error: GuardError) -> Option<&'static str> {
    match error {
        GuardError::ForbiddenAddress => {
            Some("it is not a public one, and NOTIFIER__HTTP__ALLOWED_CIDRS does not name it")
        }
        GuardError::SchemeNotAllowed => {
            Some("it does not start with https://, and NOTIFIER__HTTP__ALLOW_PLAIN is not set")
        }
        _ => None,
    }
}
