//! How often an address, an account at an address, and a session may ask. Refusals are 429 with a
//! waiting time; an account is never locked, which would let anybody lock out anybody.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration as StdDuration;

use auth_types::UserId;
use chrono::{DateTime, Duration, Utc};
use service_kit::rate_limit::{KeyedLimiter, RetryAfter};

use crate::error::Error;
use crate::tokens::refresh::RefreshToken;

/// Failed sign-ins at an account from an address before waiting begins, within [`FAILURE_WINDOW`].
const FREE_FAILURES: u32 = 10;
/// Failures further apart than this are not one attack.
const FAILURE_WINDOW: Duration = Duration::minutes(15);
/// Pairs of account and address that are remembered.
const REMEMBERED_FAILURES: u64 = 100_000;

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
    codes: KeyedLimiter<UserId>,
    /// Failures of OAuth clients, whichever they claim to be.
    clients: KeyedLimiter<IpAddr>,
    failures: moka::sync::Cache<(String, IpAddr), Failures>,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: DateTime<Utc>,
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
            codes: KeyedLimiter::new(30, 60 * minute, 120),
            clients: KeyedLimiter::new(60, minute, 30),
            failures: moka::sync::Cache::new(REMEMBERED_FAILURES),
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

    /// For codes of the second factor, wherever they come from: they are short, and who guesses them has
    /// the password. An authenticator app alone cannot reach this limit.
    pub(crate) fn check_code(&self, user_id: UserId) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.codes.check(&user_id).map_err(refused)
        })
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
        limits.check_failures(address, username, now)
    }

    pub(crate) fn login_failed(&self, address: Option<IpAddr>, username: &str, now: DateTime<Utc>) {
        let Some(limits) = &self.0 else { return };
        limits
            .failures
            .entry((username.to_owned(), network(address)))
            .and_upsert_with(|entry| {
                let before = entry
                    .map(moka::Entry::into_value)
                    .filter(|failures| now - failures.last < FAILURE_WINDOW);
                Failures {
                    count: before
                        .map_or(0, |failures| failures.count)
                        .saturating_add(1),
                    last: now,
                }
            });
    }

    /// Asked before an OAuth client's secret is looked at.
    pub(crate) fn check_client(
        &self,
        address: Option<IpAddr>,
        client_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.check_failures(address, &client_key(client_id), now)
        })
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

    pub(crate) fn client_succeeded(&self, address: Option<IpAddr>, client_id: &str) {
        self.login_succeeded(address, &client_key(client_id));
    }

    pub(crate) fn login_succeeded(&self, address: Option<IpAddr>, username: &str) {
        if let Some(limits) = &self.0 {
            limits
                .failures
                .invalidate(&(username.to_owned(), network(address)));
        }
    }

    /// By sign-in: all refresh tokens of one share their lineage.
    pub(crate) fn check_refresh(&self, token: &RefreshToken) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |limits| {
            limits.refresh.check(&token.lineage()).map_err(refused)
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

impl Limiters {
    fn check_failures(
        &self,
        address: Option<IpAddr>,
        name: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let failures = self.failures.get(&(name.to_owned(), network(address)));
        match failures.map_or(0, |failures| failures.seconds_to_wait(now)) {
            0 => Ok(()),
            seconds => Err(Error::RateLimited(seconds)),
        }
    }
}

impl Failures {
    /// One second after the tenth failure, twice as long after each further one, never beyond the window.
    fn seconds_to_wait(self, now: DateTime<Utc>) -> u64 {
        let Some(beyond) = self.count.checked_sub(FREE_FAILURES) else {
            return 0;
        };
        let wait = Duration::seconds(1_i64 << beyond.min(10)).min(FAILURE_WINDOW);
        // What is left of a second counts as one, so that who waits as told is let in.
        let left = (self.last + wait - now).num_milliseconds();
        u64::try_from(left).map_or(0, |left| left.div_ceil(1_000))
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
