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
mod audit;
mod bad_input;
mod browser;
mod client_changes;
mod commands;
mod cost;
mod credential_helpers;
mod deletion;
mod derived_sessions;
mod discovery;
mod emails;
mod existence_check;
mod export;
mod forged_tokens;
mod global_logout;
mod housekeeping;
mod hsts;
mod html_parser;
mod invitations;
mod jwks_cache;
mod keys;
mod large_bodies;
mod late_bodies;
mod name_rules;
mod oauth_attacks;
mod oauth_authentication;
mod oauth_authorize;
mod oauth_claims;
mod oauth_clients;
mod oauth_codes;
mod oauth_consent;
mod oauth_cors;
mod oauth_device;
mod oauth_fixture;
mod oauth_form_post;
mod oauth_id_token_hint;
mod oauth_introspection;
mod oauth_logout;
mod oauth_logout_attacks;
mod oauth_logout_calls;
mod oauth_prompts;
mod oauth_refresh;
mod oauth_revocation;
mod oauth_userinfo;
mod oauth_withdrawal;
mod openapi;
mod outage;
mod pages;
mod passwords;
mod photo_attacks;
mod photos;
mod profiles;
mod provider_fixture;
mod rate_limits;
mod refresh;
mod reseal;
mod resets;
mod revocation;
mod rotation;
mod schema;
mod scopes;
mod session_limits;
mod session_list;
mod sessions;
mod sign_in_notice;
mod sso;
mod support;
mod team_changes;
mod team_fixture;
mod team_pages;
mod teams;
mod totp;
