//! Sign-in through the identity service: the authorization code flow with PKCE, as a confidential client. The tokens never reach
//! a script or a page: they are in a cookie that only this service can open.

mod cookie;
mod journey;
mod oauth;
mod renewal;
mod routes;

pub(crate) use cookie::{BROWSER, BrowserSignIn, LIFE, NAME};
pub(crate) use oauth::{ClientContext, TokenClient, TokenError};
pub(crate) use renewal::TokenRenewals;
pub(crate) use routes::routes;
