//! The hosted pages, as somebody with a browser without JavaScript uses them.

pub(crate) mod every_page;
mod invitations;
mod mailed;
mod register;
mod second_step;
mod sign_in;
mod tabs;
