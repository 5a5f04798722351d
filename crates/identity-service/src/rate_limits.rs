//! Rate limits by address, by account and address, and by session. A request over a limit receives 429 with
//! `Retry-After`. No account is ever locked, because anybody could then lock out anybody else.

mod failure_backoff;

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration as StdDuration;

use auth_types::UserId;
use chrono::{DateTime, Utc};
use service_kit::rate_limit::{KeyedLimiter, RetryAfter};

use self::failure_backoff::FailureBackoff;
use crate::error::Error;
use crate::token_access::Grant;
use crate::tokens::refresh_token::RefreshToken;

/// Failed sign-ins to one account from one address before a wait is imposed.
const FREE_SIGN_INS: u32 = 10;

/// All rate limits of the service, or none if they are disabled.
pub(crate) struct RateLimits(Option<Limiters>);

/// The requests that are limited by address. Each kind allows a burst of 60, refilled at 30 a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AddressLimit {
    Login,
    Register,
    /// Requests a mail link, or presents one.
    Link,
    /// Presents something that is not a refresh token.
    RefusedRefresh,
    /// Fails to authenticate as an OAuth client, whichever client it claims to be.
    ClientFailure,
    /// Starts a device authorization, each of which takes one of the limited number of user codes.
    Device,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AccountLimit {
    /// Sends an e-mail to an address that the account chose.
    Invite,
    Export,
    /// Costs processor time and, if the photo is fetched, a request to somebody else's server.
    Photo,
    /// Receives a link for setting a new password.
    ResetMail,
    /// Sends an e-mail to an address that may belong to anybody.
    NewAddress,
}

struct Limiters {
    addresses: KeyedLimiter<(AddressLimit, IpAddr)>,
    refresh: KeyedLimiter<String>,
    invite: KeyedLimiter<UserId>,
    exports: KeyedLimiter<UserId>,
    photo: KeyedLimiter<UserId>,
    /// E-mails to an address that a caller chose.
    mails: KeyedLimiter<(AccountLimit, UserId)>,
    /// Sessions opened without a password, and authorization codes issued without a prompt.
    derived: KeyedLimiter<(UserId, &'static str, Option<String>)>,
    sign_ins: FailureBackoff<(String, IpAddr)>,
    /// User codes of device authorizations.
    user_codes: KeyedLimiter<UserId>,
    user_codes_here: KeyedLimiter<IpAddr>,
}

impl RateLimits {
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
            sign_ins: FailureBackoff::after(FREE_SIGN_INS),
            user_codes: KeyedLimiter::new(20, 60 * minute, 60),
            user_codes_here: KeyedLimiter::new(60, 60 * minute, 240),
        }))
    }

    pub(crate) fn check_address(
        &self,
        what: AddressLimit,
        address: Option<IpAddr>,
    ) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        let key = (what, network(address));
        limits.addresses.check(&key).map_err(refused)
    }

    pub(crate) fn check_account(&self, what: AccountLimit, id: UserId) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        match what {
            AccountLimit::Invite => limits.invite.check(&id),
            AccountLimit::Export => limits.exports.check(&id),
            AccountLimit::Photo => limits.photo.check(&id),
            AccountLimit::ResetMail | AccountLimit::NewAddress => limits.mails.check(&(what, id)),
        }
        .map_err(refused)
    }

    /// Limits sessions that another session vouches for, so that a script cannot open them faster than a user could.
    /// OAuth clients and sites are counted separately, so that none uses up the limit of another.
    pub(crate) fn check_derived(&self, user_id: UserId, grant: &Grant) -> Result<(), Error> {
        let holder = grant.client_id().or(grant.site());
        self.check_unasked(user_id, grant.kind(), holder)
    }

    /// Limits authorization codes that are issued without a prompt.
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

    /// Whether limits are enabled. The waits after wrong second-factor codes are kept in the database.
    pub(crate) fn are_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Limits attempts at user codes, which are short (RFC 8628 section 5.1). The limit by address covers callers
    /// with many accounts.
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

    /// Checks the limits of a sign-in, before any hash is computed.
    pub(crate) fn check_login(
        &self,
        address: Option<IpAddr>,
        username: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.check_address(AddressLimit::Login, address)?;
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

    /// Checks the limit of an OAuth client's failures, before its secret is compared.
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

    /// Counts a failure of an OAuth client. Returns 429 after too many failures from this address.
    pub(crate) fn client_failed(
        &self,
        address: Option<IpAddr>,
        client_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.login_failed(address, &client_key(client_id), now);
        self.check_address(AddressLimit::ClientFailure, address)
    }

    pub(crate) fn login_succeeded(&self, address: Option<IpAddr>, username: &str) {
        if let Some(limits) = &self.0 {
            limits
                .sign_ins
                .succeeded(&(username.to_owned(), network(address)));
        }
    }

    /// Limits refreshes by session: all refresh tokens of a session share a lineage.
    pub(crate) fn check_refresh(&self, token: &RefreshToken) -> Result<(), Error> {
        let Some(limits) = &self.0 else { return Ok(()) };
        limits.refresh.check(&token.lineage()).map_err(refused)
    }
}

/// The name under which an OAuth client's failures are counted. No username contains a space, and no client has an id
/// of more than 64 characters.
fn client_key(client_id: &str) -> String {
    let shown: String = client_id.chars().take(64).collect();
    format!("client {shown}")
}

fn refused(RetryAfter(seconds): RetryAfter) -> Error {
    Error::RateLimited(seconds)
}

/// Maps an IPv6 address to its /64: a household or server has a whole one, and could change its address at will.
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
    fn the_wait_grows_with_failures_and_ends_with_success_or_time() {
        let limits = RateLimits::new(true);
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
        // Failures from another address lock nobody out.
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
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let key = |text: &str| network(text.parse().ok());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}
