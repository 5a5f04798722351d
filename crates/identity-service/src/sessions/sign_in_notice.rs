//! The mail about a sign-in from a new location.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use event_types::MailTemplate;

use super::{KEPT, queries};
use crate::accounts::model::AccountRow;
use crate::audit;
use crate::error::Error;
use crate::transaction::Transaction;

/// Enqueues a mail if no session of the last 90 days has this sign-in's program and network. The very first sign-in
/// of an account sends none. The caller runs it in the transaction of the sign-in, before inserting the session.
pub(super) fn send_sign_in_notice(
    tx: &mut Transaction<'_>,
    account: &AccountRow,
) -> Result<(), Error> {
    let (Some(address), true) = (tx.context.address, account.email_verified) else {
        return Ok(());
    };
    let since = tx.now.naive_utc() - KEPT;
    let user_agent = tx.context.user_agent.clone();
    let (text, agent) = (address.to_string(), user_agent.as_deref());
    // In the usual case, one matching row settles it.
    if let Some(agent) = agent
        && queries::has_signed_in_from(tx.db, account.id, since, &text, agent)?
    {
        return Ok(());
    }
    let places = queries::list_sign_in_locations(tx.db, account.id, since)?;
    let here = SignInLocation::new(Some(address), agent);
    let known = places.iter().any(|(address, agent)| {
        let address = address.as_deref().and_then(|text| text.parse().ok());
        SignInLocation::new(address, agent.as_deref()) == here
    });
    if known || !audit::queries::has_signed_in(tx.db, account.id)? {
        return Ok(());
    }
    let text = MailTemplate::NewSignIn {
        username: account.username.clone(),
        at: tx.now,
        address: text,
        user_agent,
    };
    tx.mail(&account.email, text)
}

/// A program in a network.
#[derive(PartialEq, Eq)]
struct SignInLocation {
    network: Option<IpAddr>,
    program: String,
}

impl SignInLocation {
    fn new(address: Option<IpAddr>, user_agent: Option<&str>) -> Self {
        Self {
            network: address.map(network),
            program: without_versions(user_agent.unwrap_or_default()),
        }
    }
}

/// Returns the /24 or /64 of an address, which usually stays the same at home and on the road.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << 8))),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
    }
}

/// Removes the product versions of a user agent (RFC 9110 section 10.1.5). An updated browser is not a new program,
/// and users ignore notices that arrive every month.
fn without_versions(user_agent: &str) -> String {
    let mut kept = String::with_capacity(user_agent.len());
    let mut in_version = false;
    for c in user_agent.chars() {
        in_version = match c {
            '/' => true,
            '0'..='9' | '.' => in_version,
            _ => false,
        };
        if !in_version || c == '/' {
            kept.push(c);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn same(one: (&str, &str), other: (&str, &str)) -> bool {
        let place =
            |(address, agent): (&str, &str)| SignInLocation::new(address.parse().ok(), Some(agent));
        place(one) == place(other)
    }

    #[test]
    fn a_location_is_a_program_in_a_network() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
        assert!(same(("192.0.2.1", firefox), ("192.0.2.250", firefox)));
        assert!(!same(("192.0.2.1", firefox), ("192.0.3.1", firefox)));
        assert!(same(("2001:db8::1", "a"), ("2001:db8::ffff:1", "a")));
        assert!(!same(("2001:db8::1", "a"), ("2001:db8:0:1::1", "a")));
        assert!(same(("::ffff:192.0.2.1", "a"), ("192.0.2.9", "a")));
        assert!(!same(("192.0.2.1", firefox), ("192.0.2.1", "curl/8.0")));
    }

    #[test]
    fn an_updated_program_is_not_a_new_one() {
        assert!(same(
            ("192.0.2.1", "curl/8.5.0"),
            ("192.0.2.1", "curl/8.17.0")
        ));
        assert!(!same(("192.0.2.1", "desk-1"), ("192.0.2.1", "desk-2")));
        let chrome =
            |version| format!("Mozilla/5.0 (Windows NT 10.0) Chrome/{version} Safari/537.36");
        assert_eq!(
            without_versions(&chrome("141.0.0.0")),
            without_versions(&chrome("142.0.7444.59"))
        );
    }
}
