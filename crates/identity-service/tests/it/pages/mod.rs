//! The hosted pages in a browser without JavaScript.

pub(crate) mod every_page;
mod invitations;
mod mail_links;
mod other_tabs;
mod register;
mod second_step;
mod sign_in;
