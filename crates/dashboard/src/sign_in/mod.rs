//! Sign-in through the identity service: the authorization code flow with PKCE, as a confidential client. The tokens never reach
//! a script or a page: they are in a cookie that only this service can open.

mod authorization_state;
mod cookie;
mod renewal;
mod routes;
mod token_client;

pub(crate) use cookie::{BROWSER, BrowserSignIn, LIFE, NAME};
pub(crate) use renewal::TokenRenewals;
pub(crate) use routes::routes;
pub(crate) use token_client::{ClientContext, TokenClient, TokenError};
