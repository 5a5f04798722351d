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

struct Limiters {
    login: KeyedLimiter<IpAddr>,
    register: KeyedLimiter<IpAddr>,
    refresh: KeyedLimiter<String>,
    invite: KeyedLimiter<UserId>,
    exports: KeyedLimiter<UserId>,
    photo: KeyedLimiter<UserId>,
    /// Asking for, and coming with, links of mails.
    links: KeyedLimiter<IpAddr>,
    reset_mails: KeyedLimiter<UserId>,
    new_addresses: KeyedLimiter<UserId>,
    /// Sessions that are opened without a password, and codes for which nobody was asked.
    derived: KeyedLimiter<(UserId, &'static str, Option<String>)>,
    silent_codes: KeyedLimiter<(UserId, String)>,
    /// Failures of OAuth clients, whichever they claim to be.
    clients: KeyedLimiter<IpAddr>,
    refused_refreshes: KeyedLimiter<IpAddr>,
    sign_ins: Waits<(String, IpAddr)>,
    /// Devices that begin.
    devices: KeyedLimiter<IpAddr>,
    /// Codes of devices that somebody enters.
    user_codes: KeyedLimiter<UserId>,
    user_codes_here: KeyedLimiter<IpAddr>,
}

impl Limits {
    pub(crate) fn new(enabled: bool) -> Self {
        let minute = StdDuration::from_secs(60);
        Self(enabled.then(|| Limiters {
            login: KeyedLimiter::new(60, minute, 30),
            register: KeyedLimiter::new(60, minute, 30),
            refresh: KeyedLimiter::new(150, 5 * minute, 150),
            invite: KeyedLimiter::new(20, 60 * minute, 20),
            exports: KeyedLimiter::new(10, 60 * minute, 10),
            photo: KeyedLimiter::new(30, minute, 30),
            links: KeyedLimiter::new(60, minute, 30),
            reset_mails: KeyedLimiter::new(5, 60 * minute, 5),
            new_addresses: KeyedLimiter::new(5, 60 * minute, 5),
            derived: KeyedLimiter::new(60, minute, 30),
            silent_codes: KeyedLimiter::new(60, minute, 30),
            clients: KeyedLimiter::new(60, minute, 30),
            refused_refreshes: KeyedLimiter::new(60, minute, 30),
            sign_ins: Waits::after(FREE_SIGN_INS),
            devices: KeyedLimiter::new(60, minute, 30),
            user_codes: KeyedLimiter::new(20, 60 * minute, 60),
            user_codes_here: KeyedLimiter::new(60, 60 * minute, 240),
        }))
    }

    pub(crate) fn check_register(&self, address: Option<IpAddr>) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.register.check(&network(address)).map_err(refused)
        })
    }

    /// For an account that wants all its data.
    pub(crate) fn check_export(&self, user_id: UserId) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.exports.check(&user_id).map_err(refused)
        })
    }

    /// For who asks for a link in a mail or comes with one.
    pub(crate) fn check_link(&self, address: Option<IpAddr>) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.links.check(&network(address)).map_err(refused)
        })
    }

    /// Whether an account may be sent another link to a new password. Who asks is not told.
    pub(crate) fn may_mail_reset(&self, user_id: UserId) -> bool {
        self.0
            .as_ref()
            .is_none_or(|limits| limits.reset_mails.check(&user_id).is_ok())
    }

    /// For an account that wants mail sent to an address which may be anybody's.
    pub(crate) fn check_new_address(&self, user_id: UserId) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.new_addresses.check(&user_id).map_err(refused)
        })
    }

    /// For a session that another one vouches for: a script must not open them faster than anybody uses them.
    /// OAuth clients and sites are counted one by one, so that none keeps the others out.
    pub(crate) fn check_derived(&self, user_id: UserId, grant: &Grant) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            let holder = grant.client_id().or(grant.site()).map(str::to_owned);
            let key = (user_id, grant.kind(), holder);
            limits.derived.check(&key).map_err(refused)
        })
    }

    /// For an authorization code for which nobody was asked.
    pub(crate) fn check_silent_code(&self, user_id: UserId, client_id: &str) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            let key = (user_id, client_id.to_owned());
            limits.silent_codes.check(&key).map_err(refused)
        })
    }

    /// Whether there are limits at all. The waits after wrong codes of the second factor are kept in the database.
    pub(crate) fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    /// For devices that begin: each takes one of the codes that people can type.
    pub(crate) fn check_device(&self, address: Option<IpAddr>) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.devices.check(&network(address)).map_err(refused)
        })
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
        let Some(limits) = &self.0 else { return Ok(()) };
        limits.login.check(&network(address)).map_err(refused)?;
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
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.clients.check(&network(address)).map_err(refused)
        })
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
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.refresh.check(&token.lineage()).map_err(refused)
        })
    }

    /// For an address whose refresh token was none.
    pub(crate) fn check_refused_refresh(&self, address: Option<IpAddr>) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            let key = network(address);
            limits.refused_refreshes.check(&key).map_err(refused)
        })
    }

    /// By account: each invitation sends a mail to an address of the caller's choice.
    pub(crate) fn check_invite(&self, inviter: UserId) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.invite.check(&inviter).map_err(refused)
        })
    }

    /// Photos cost a processor, and those that are fetched a stranger's server a request.
    pub(crate) fn check_photo(&self, owner: UserId) -> Result<(), Error> {
        self.0
            .as_ref()
            .map_or(Ok(()), |limits| limits.photo.check(&owner).map_err(refused))
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
