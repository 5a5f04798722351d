//! What access tokens may be used for: the grant of each session, and the table of endpoints with the tokens that
//! they accept. An endpoint that is not in the table accepts only the product's own sign-ins.

mod endpoint_rules;
mod grant;

pub(crate) use endpoint_rules::{allows, refuses_some};
pub(crate) use grant::{ABSOLUTE_LIFE, COOKIE_LIFE, ClientAccess, Grant, GrantRow, TokenAccess};
