//! Who made a project's chat or a webhook, and what with. A hook that an OAuth client or a sign-in of single sign-on made is
//! paused when that ends, and a team's when its maker no longer manages the team, until an authorized person adopts it. Whoever sets
//! a hook's address becomes its maker.

mod model;
mod queries;
mod service;

pub(crate) use model::{LostAccess, Maker, PAUSED};
pub(crate) use service::{Changed, Recipients, commit, pause, recipients};
