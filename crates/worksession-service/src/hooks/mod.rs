//! What the chat of a team project and a webhook have in common: both are addresses that people have the notifier call.
//!
//! An address is kept sealed, for one revision of its hook. Whoever sets it becomes the hook's [`Maker`]: a hook that an
//! OAuth client or a sign-in of single sign-on made is paused when that ends, and a team's when its maker no longer manages
//! the team, until an authorized person adopts it. Who is told by mail that a hook was switched off is in [`contacts`].

mod address;
mod committing;
pub(crate) mod contacts;
mod hook;
mod lost_access;
mod maker;
mod pausing;
mod queries;

pub(crate) use address::read_address;
pub(crate) use committing::{Changed, commit};
pub(crate) use hook::{ACTIVE, Hook, OFF, PAUSED, Target, WebhookId};
pub(crate) use lost_access::LostAccess;
pub(crate) use maker::Maker;
pub(crate) use pausing::{Recipients, pause, recipients};
