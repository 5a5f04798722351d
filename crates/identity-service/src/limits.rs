//! How often an address, an account at an address, and a session may ask. Refusals are 429 with a
//! waiting time; an account is never locked, which would let anybody lock out anybody.

mod waits;

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration as StdDuration;

use auth_types::UserId;
use chrono::{DateTime, Utc};
use service_kit::rate_limit::{KeyedLimiter, RetryAfter};

use self::waits::Waits;
use crate::access::Grant;
use crate::error::Error;
use crate::tokens::refresh::RefreshToken;

/// Failed sign-ins at an account from an address before waiting begins.
const FREE_SIGN_INS: u32 = 10;

/// All limits of the identity area; none of them when switched off.
pub(crate) struct Limits(Option<Limiters>);

/// What an address does; each 60 times at once, and then 30 times a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ByAddress {
    Login,
    Register,
    /// Asks for a link in a mail, or comes with one.
    Link,
    /// Comes with what is no refresh token.
    RefusedRefresh,
    /// Fails as an OAuth client, whichever it claims to be.
    ClientFailure,
    /// Begins as a device: each takes one of the codes that people can type.
    Device,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ByAccount {
    /// Sends a mail to an address of its choice.
    Invite,
    Export,
    /// Costs a processor, and where the photo is fetched a stranger's server a request.
    Photo,
    /// Is sent a link to a new password.
    ResetMail,
    /// Has mail sent to an address which may be anybody's.
    NewAddress,
}

struct Limiters {
    addresses: KeyedLimiter<(ByAddress, IpAddr)>,
    refresh: KeyedLimiter<String>,
    invite: KeyedLimiter<UserId>,
    exports: KeyedLimiter<UserId>,
    photo: KeyedLimiter<UserId>,
    /// Mails to an address that somebody named.
    mails: KeyedLimiter<(ByAccount, UserId)>,
    /// Sessions that are opened without a password, and codes for which nobody was asked.
    derived: KeyedLimiter<(UserId, &'static str, Option<String>)>,
    sign_ins: Waits<(String, IpAddr)>,
    /// Codes of devices that somebody enters.
    user_codes: KeyedLimiter<UserId>,
    user_codes_here: KeyedLimiter<IpAddr>,
}

impl Limits {
    pub(crate) fn new(enabled: bool) -> Self {
        let minute = StdDuration::from_secs(60);
        Self(enabled.then(|| Limiters {
            addresses: KeyedLimiter::new(60, minute, 30),
            refresh: KeyedLimiter::new(150, 5 * minute, 150),
            invite: KeyedLimiter::new(20, 60 * minute, 20),
            exports: KeyedLimiter::new(10, 60 * minute, 10),
            photo: KeyedLimiter::new(30, minute, 30),
            mails: KeyedLimiter::new(5, 60 * minute, 5),
            derived: KeyedLimiter::new(60, minute, 30),
            sign_ins: Waits::after(FREE_SIGN_INS),
            user_codes: KeyedLimiter::new(20, 60 * minute, 60),
            user_codes_here: KeyedLimiter::new(60, 60 * minute, 240),
        }))
    }

    pub(crate) fn check_address(
        &self,
        what: ByAddress,
        address: Option<IpAddr>,
    ) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        let key = (what, network(address));
        limits.addresses.check(&key).map_err(refused)
    }

    pub(crate) fn check_account(&self, what: ByAccount, id: UserId) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        match what {
            ByAccount::Invite => limits.invite.check(&id),
            ByAccount::Export => limits.exports.check(&id),
            ByAccount::Photo => limits.photo.check(&id),
            ByAccount::ResetMail | ByAccount::NewAddress => limits.mails.check(&(what, id)),
        }
        .map_err(refused)
    }

    /// For a session that another one vouches for: a script must not open them faster than anybody uses them.
    /// OAuth clients and sites are counted one by one, so that none keeps the others out.
    pub(crate) fn check_derived(&self, user_id: UserId, grant: &Grant) -> Result<(), Error> {
        let holder = grant.client_id().or(grant.site());
        self.check_unasked(user_id, grant.kind(), holder)
    }

    /// For an authorization code for which nobody was asked.
    pub(crate) fn check_silent_code(&self, user_id: UserId, client_id: &str) -> Result<(), Error> {
        self.check_unasked(user_id, "silent_code", Some(client_id))
    }

    fn check_unasked(
        &self,
        user_id: UserId,
        kind: &'static str,
        holder: Option<&str>,
    ) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        let key = (user_id, kind, holder.map(str::to_owned));
        limits.derived.check(&key).map_err(refused)
    }

    /// Whether there are limits at all. The waits after wrong codes of the second factor are kept in the database.
    pub(crate) fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    /// For codes of devices, which are short (RFC 8628 section 5.1): by account, and by address for who has
    /// many accounts.
    pub(crate) fn check_user_code(
        &self,
        user_id: UserId,
        address: Option<IpAddr>,
    ) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        limits.user_codes.check(&user_id).map_err(refused)?;
        let here = limits.user_codes_here.check(&network(address));
        here.map_err(refused)
    }

    /// Asked before any hash is computed.
    pub(crate) fn check_login(
        &self,
        address: Option<IpAddr>,
        username: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.check_address(ByAddress::Login, address)?;
        let Some(limits) = &self.0 else { return Ok(()) };
        let key = (username.to_owned(), network(address));
        limits.sign_ins.check(&key, now)
    }

    pub(crate) fn login_failed(&self, address: Option<IpAddr>, username: &str, now: DateTime<Utc>) {
        let Some(limits) = &self.0 else { return };
        limits
            .sign_ins
            .failed((username.to_owned(), network(address)), now);
    }

    /// Asked before an OAuth client's secret is looked at.
    pub(crate) fn check_client(
        &self,
        address: Option<IpAddr>,
        client_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        let key = (client_key(client_id), network(address));
        limits.sign_ins.check(&key, now)
    }

    /// Counts a failure of an OAuth client; 429 when there were too many from this address.
    pub(crate) fn client_failed(
        &self,
        address: Option<IpAddr>,
        client_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.login_failed(address, &client_key(client_id), now);
        self.check_address(ByAddress::ClientFailure, address)
    }

    pub(crate) fn login_succeeded(&self, address: Option<IpAddr>, username: &str) {
        if let Some(limits) = &self.0 {
            limits
                .sign_ins
                .succeeded(&(username.to_owned(), network(address)));
        }
    }

    /// By sign-in: all refresh tokens of one share their lineage.
    pub(crate) fn check_refresh(&self, token: &RefreshToken) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        limits.refresh.check(&token.lineage()).map_err(refused)
    }
}

/// The name under which an OAuth client's failures are counted: no account can be called so. What is longer
/// than any id is nobody's.
fn client_key(client_id: &str) -> String {
    let shown: String = client_id.chars().take(64).collect();
    format!("client {shown}")
}

fn refused(RetryAfter(seconds): RetryAfter) -> Error {
    Error::RateLimited(seconds)
}

/// One household or server has a whole /64 of IPv6 and could otherwise change its address at will.
fn network(address: Option<IpAddr>) -> IpAddr {
    let address = address.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::Duration;

    use super::*;

    #[test]
    fn waiting_grows_with_failures_and_ends_with_success_or_time() {
        let limits = Limits::new(true);
        let here: Option<IpAddr> = "192.0.2.1".parse().ok();
        let there: Option<IpAddr> = "192.0.2.2".parse().ok();
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for _ in 0..9 {
            limits.login_failed(here, "ada", now);
        }
        assert!(limits.check_login(here, "ada", now).is_ok());
        limits.login_failed(here, "ada", now);
        assert!(matches!(
            limits.check_login(here, "ada", now),
            Err(Error::RateLimited(1))
        ));
        limits.login_failed(here, "ada", now);
        limits.login_failed(here, "ada", now);
        assert!(matches!(
            limits.check_login(here, "ada", now),
            Err(Error::RateLimited(4))
        ));
        // Somebody else's guessing from elsewhere locks nobody out.
        assert!(limits.check_login(there, "ada", now).is_ok());
        assert!(limits.check_login(here, "bob", now).is_ok());
        assert!(
            limits
                .check_login(here, "ada", now + Duration::seconds(4))
                .is_ok()
        );
        limits.login_succeeded(here, "ada");
        assert!(limits.check_login(here, "ada", now).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one() {
        let key = |text: &str| network(text.parse().ok());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}
