//! The hosted pages in a browser without JavaScript.

pub(crate) mod every_page;
mod invitations;
mod mailed;
mod register;
mod second_step;
mod sign_in;
mod tabs;
