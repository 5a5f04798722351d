//! Feedback of the notifier: the outcomes of notifications, webhook deliveries and tests, and destinations that
//! permanently reject messages. The inbox makes each event count once.

mod consumer;
mod event;
mod queries;

pub(crate) use consumer::spawn;
