//! What people, chats and checks know each other's messages and projects by.

/// Projects whose chats only have bad days.
pub(super) const HEALTHY: usize = 5;
/// The project whose hook goes away for good, again and again.
pub(super) const GONE: usize = HEALTHY;
/// The project that is told through Matrix.
pub(super) const MATRIX: usize = 4;
pub(super) const HOOK_TOKEN: &str = "room-token";
