//! Tests of the identity service over HTTP, with a real server on port 0 and the database chosen for the run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    reason = "tests fail by panicking and are documented by their names"
)]

mod account_pages;
mod accounts;
mod admin_api;
mod admin_cli;
mod admin_pages;
mod attacks;
mod audit;
mod bad_input;
mod browser;
mod cast;
mod commands;
mod cost;
mod deletion;
mod descent;
mod discovery;
mod emails;
mod existence;
mod export;
mod global_logout;
mod housekeeping;
mod hsts;
mod html;
mod invitations;
mod keys;
mod large_bodies;
mod late_bodies;
mod limits;
mod names;
mod oauth_attacks;
mod oauth_authentication;
mod oauth_authorize;
mod oauth_clients;
mod oauth_codes;
mod oauth_consent;
mod oauth_device;
mod oauth_introspection;
mod oauth_kit;
mod oauth_refresh;
mod oauth_revocation;
mod oauth_support;
mod oauth_userinfo;
mod oauth_withdrawal;
mod openapi;
mod outage;
mod owners;
mod pages;
mod passwords;
mod photo_attacks;
mod photos;
mod profiles;
mod refresh;
mod reseal;
mod resets;
mod revocation;
mod rotation;
mod schema;
mod scopes;
mod session_caps;
mod session_list;
mod sessions;
mod sign_in_notice;
mod sso;
mod support;
mod team_life;
mod team_pages;
mod teams;
mod totp;
