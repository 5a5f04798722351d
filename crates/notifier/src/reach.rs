//! What is said of an address that the operator's settings keep from being called.

use service_kit::guard::GuardError;

/// What forbids the call, and the setting that would allow it; none for what no setting has a part in. It says
/// nothing of the address's owner: a process that was started once without its settings gives up no address.
pub(crate) fn forbidden(error: GuardError) -> Option<&'static str> {
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
