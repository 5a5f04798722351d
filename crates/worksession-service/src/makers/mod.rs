//! Who made a project's chat or a webhook, and what with. A hook that an OAuth client or a sign-in of single sign-on made is
//! paused when that ends, and a team's when its maker manages the team no more; until somebody who may keeps it. A sign-in
//! of the product itself that changes a hook takes it over.

mod model;
mod queries;
mod service;

pub(crate) use model::{Maker, PAUSED, Withdrawn};
pub(crate) use service::{Recipients, confirm, pause, recipients};
