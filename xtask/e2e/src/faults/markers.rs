//! Constants by which load, chats and checks recognise messages and projects.

/// Number of the projects whose chats fail only for a while.
pub(super) const HEALTHY: usize = 5;
/// The project whose hook disappears for good, again and again.
pub(super) const GONE: usize = HEALTHY;
/// The project with a Matrix chat.
pub(super) const MATRIX: usize = 4;
pub(super) const HOOK_TOKEN: &str = "room-token";
