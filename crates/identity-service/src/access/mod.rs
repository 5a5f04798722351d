//! What the tokens of a sign-in may be used for: what each sign-in was opened for, and the table of every
//! endpoint and who may call it. What the table does not name is refused to everybody but a sign-in at the
//! product itself.

mod grant;
mod table;

pub(crate) use grant::{ABSOLUTE_LIFE, Access, COOKIE_LIFE, Grant, GrantRow};
pub(crate) use table::{allows, refuses_some};
