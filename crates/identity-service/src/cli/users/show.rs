//! Text output about accounts.

use auth_types::PremiumTier;
use auth_types::wire::is_placeholder;

use crate::admin::wire::{AdminUser, AdminUserList, PasswordResponse};
use service_kit::cli::output::{Column, day, minute, record, table};

pub(super) fn listed(page: &AdminUserList) -> String {
    let rows = page.users.iter().map(|user| {
        [
            user.user.id.to_string(),
            user.user.username.clone(),
            email(user).unwrap_or("-").to_owned(),
            user.user.role.as_str().to_owned(),
            user.user.premium_tier.as_str().to_owned(),
            status(user).to_owned(),
            user.last_sign_in_at.map_or_else(|| "-".to_owned(), day),
        ]
    });
    let columns = [
        Column::Number("ID"),
        Column::Cut("USERNAME"),
        Column::Cut("E-MAIL"),
        Column::Whole("ROLE"),
        Column::Whole("PLAN"),
        Column::Whole("STATE"),
        Column::Whole("SIGNED IN"),
    ];
    let mut text = table(columns, rows, "No accounts found.");
    if let Some(last) = page.next_cursor {
        text += &format!("\n\nNext page: --after {last}");
    }
    text
}

pub(super) fn described(user: &AdminUser) -> String {
    let of = &user.user;
    let verified = if of.email_verified {
        ""
    } else {
        " (not verified)"
    };
    let utc = |at| format!("{} UTC", minute(at));
    let on_off = |on| if on { "on" } else { "off" }.to_owned();
    record([
        ("id", of.id.to_string()),
        ("username", of.username.clone()),
        ("name", or_dash(of.display_name.as_ref())),
        (
            "e-mail",
            email(user).map_or_else(|| "none".to_owned(), |text| format!("{text}{verified}")),
        ),
        ("role", of.role.as_str().to_owned()),
        ("plan", plan(user)),
        ("state", status(user).to_owned()),
        ("second factor", on_off(user.totp_enabled)),
        ("open sessions", user.sessions.to_string()),
        ("language", or_dash(of.locale.as_ref())),
        ("time zone", or_dash(of.zoneinfo.as_ref())),
        (
            "last sign-in",
            user.last_sign_in_at.map_or_else(|| "-".to_owned(), utc),
        ),
        ("created", utc(of.created_at)),
        ("changed", utc(of.updated_at)),
    ])
}

fn or_dash(field: Option<&String>) -> String {
    field.cloned().unwrap_or_else(|| "-".to_owned())
}

pub(super) fn with_password_line(line: String, made: &PasswordResponse) -> String {
    match &made.password {
        Some(password) => format!("{line}\nPassword (shown only once): {password}"),
        None => line,
    }
}

pub(super) fn named(user: &AdminUser) -> String {
    format!("{} (id {})", user.user.username, user.user.id)
}

/// The address, unless it is the placeholder.
pub(super) fn email(user: &AdminUser) -> Option<&str> {
    let email = user.user.email.as_deref()?;
    (!is_placeholder(email)).then_some(email)
}

pub(super) fn status(user: &AdminUser) -> &'static str {
    if user.user.is_active {
        "active"
    } else {
        "deactivated"
    }
}

pub(super) fn plan(user: &AdminUser) -> String {
    let premium = &user.premium;
    let end = premium.expires_at.map(minute);
    match (premium.tier, end) {
        (PremiumTier::Premium, Some(end)) => format!("PREMIUM until {end} UTC"),
        (PremiumTier::Premium, None) => "PREMIUM".to_owned(),
        (PremiumTier::Free, Some(end)) => format!("FREE (PREMIUM ended {end} UTC)"),
        (PremiumTier::Free, None) => "FREE".to_owned(),
    }
}
