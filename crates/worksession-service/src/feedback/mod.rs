//! What the notifier tells back: what became of each notification, of each call of a webhook and of tests,
//! and which destinations refuse us for good. Taken in once each, through the inbox.

mod consumer;
mod queries;
mod word;

pub(crate) use consumer::spawn;
