use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::web::Bytes;
use auth_types::UserId;
use auth_types::wire::TeamMembership;
use chrono::{DateTime, Utc};
use service_kit::TtlCache;
use service_kit::crypto::sha256;
use uuid::Uuid;

use super::ChangeSubject;
use super::liveness::{ClockReading, FeedLiveness};
use crate::accounts::model::AccountRow;
use crate::oauth::clients::model::OAuthClient;
use crate::sessions::model::SessionState;

/// The lifetime of cached rows, whatever the feed reports. A response is built from cached rows, and may be twice as old.
const LIFE: Duration = Duration::from_secs(120);
/// The number of cached sessions: about 10 MB when full.
const SESSIONS: usize = 100_000;
/// The number of cached accounts: about 40 MB when full.
const USERS: usize = 100_000;
/// The number of accounts whose teams are cached.
const TEAMS: usize = 20_000;
/// The number of cached OAuth clients, which is the maximum that can exist.
const CLIENTS: usize = 1_000;
/// The number of cached responses: about 20 MB when full.
const RESPONSES: usize = 20_000;

/// This process's cache of sessions, accounts, memberships and clients, used while the feed is alive.
pub(crate) struct IdentityCache {
    sessions: TtlCache<Uuid, SessionState>,
    users: TtlCache<UserId, Arc<AccountRow>>,
    teams: TtlCache<UserId, Arc<[TeamMembership]>>,
    clients: TtlCache<String, Arc<OAuthClient>>,
    /// The origins of all clients.
    origins: TtlCache<(), Arc<HashSet<String>>>,
    responses: TtlCache<ResponseKey, Arc<CachedResponse>>,
    /// Grows with every change that is read. An insert holds the read lock, so that it cannot grow meanwhile.
    epoch: RwLock<u64>,
    /// Grows when the signing keys must be read again.
    keys: AtomicU64,
    alive: FeedLiveness,
    enabled: bool,
}

/// Permission to cache what is read from the database from now on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheTicket {
    epoch: u64,
    given_at: Instant,
}

/// The key of a cached response, with a SHA-256 of the token: no token stays in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ResponseKey {
    hash: [u8; 32],
    kind: ResponseKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ResponseKind {
    Validation { with_teams: bool },
    Introspection { sees_all: bool },
}

impl ResponseKey {
    /// Returns the key of a validation: whether the token is valid, and whose it is.
    pub(crate) fn validation(token: &str, with_teams: bool) -> Self {
        Self {
            hash: sha256(token.as_bytes()),
            kind: ResponseKind::Validation { with_teams },
        }
    }

    /// Returns the key of an introspection: what `client` may learn about the token.
    pub(crate) fn introspection(token: &str, client: &OAuthClient) -> Self {
        // No client id contains a line feed.
        Self {
            hash: sha256(format!("{}\n{token}", client.id).as_bytes()),
            kind: ResponseKind::Introspection {
                sees_all: client.may_introspect_any,
            },
        }
    }
}

struct CachedResponse {
    body: Bytes,
    /// The times between which the response is true, unless something changes.
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    epoch: u64,
}

impl IdentityCache {
    /// Creates an empty cache, which stays empty unless `enabled`.
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            sessions: TtlCache::new(SESSIONS, LIFE),
            users: TtlCache::new(USERS, LIFE),
            teams: TtlCache::new(TEAMS, LIFE),
            clients: TtlCache::new(CLIENTS, LIFE),
            origins: TtlCache::new(1, LIFE),
            responses: TtlCache::new(RESPONSES, LIFE),
            epoch: RwLock::default(),
            keys: AtomicU64::new(0),
            alive: FeedLiveness::new(),
        }
    }

    /// Returns a ticket if cached rows may be used now. It is also needed to cache what has to be read.
    pub(crate) fn ticket(&self) -> Option<CacheTicket> {
        let now = ClockReading::now();
        let usable = self.enabled && self.alive.is_alive_at(now);
        usable.then(|| CacheTicket {
            epoch: *self.epoch.read().unwrap_or_else(PoisonError::into_inner),
            given_at: now.monotonic,
        })
    }

    /// Whether a change would be noticed now.
    pub(crate) fn is_current(&self) -> bool {
        self.alive.is_alive_at(ClockReading::now())
    }

    pub(crate) fn session(&self, ticket: CacheTicket, sid: &str) -> Option<SessionState> {
        let sid = Uuid::try_parse(sid).ok()?;
        self.sessions.get(&sid, ticket.given_at)
    }

    pub(crate) fn user(&self, ticket: CacheTicket, id: UserId) -> Option<Arc<AccountRow>> {
        self.users.get(&id, ticket.given_at)
    }

    pub(crate) fn teams(&self, ticket: CacheTicket, id: UserId) -> Option<Arc<[TeamMembership]>> {
        self.teams.get(&id, ticket.given_at)
    }

    pub(crate) fn client(&self, ticket: CacheTicket, id: &str) -> Option<Arc<OAuthClient>> {
        self.clients.get(id, ticket.given_at)
    }

    pub(crate) fn origins(&self, ticket: CacheTicket) -> Option<Arc<HashSet<String>>> {
        self.origins.get(&(), ticket.given_at)
    }

    /// Returns the response to an earlier identical request, if nothing at all has changed since.
    pub(crate) fn find_response(
        &self,
        ticket: CacheTicket,
        key: &ResponseKey,
        now: DateTime<Utc>,
    ) -> Option<Bytes> {
        let response = self.responses.get(key, ticket.given_at)?;
        let is_valid =
            response.epoch == ticket.epoch && (response.from..response.until).contains(&now);
        is_valid.then(|| response.body.clone())
    }

    /// Caches a session and its account, unless something changed after the ticket was issued: the row may have been
    /// read before the change.
    pub(crate) fn insert_session(
        &self,
        ticket: CacheTicket,
        sid: &str,
        session: SessionState,
        account: &Arc<AccountRow>,
    ) {
        self.if_unchanged(ticket, || {
            if let Ok(sid) = Uuid::try_parse(sid) {
                self.sessions.insert(sid, session, ticket.given_at);
            }
            self.users
                .insert(account.id, Arc::clone(account), ticket.given_at);
        });
    }

    /// Caches an account's teams, under the same condition.
    pub(crate) fn insert_teams(
        &self,
        ticket: CacheTicket,
        id: UserId,
        teams: &Arc<[TeamMembership]>,
    ) {
        self.if_unchanged(ticket, || {
            self.teams.insert(id, Arc::clone(teams), ticket.given_at);
        });
    }

    /// Caches an OAuth client, under the same condition.
    pub(crate) fn insert_client(&self, ticket: CacheTicket, client: &Arc<OAuthClient>) {
        self.if_unchanged(ticket, || {
            let id = client.id.clone();
            self.clients.insert(id, Arc::clone(client), ticket.given_at);
        });
    }

    /// Caches the origins of all clients, under the same condition.
    pub(crate) fn insert_origins(&self, ticket: CacheTicket, origins: &Arc<HashSet<String>>) {
        self.if_unchanged(ticket, || {
            self.origins
                .insert((), Arc::clone(origins), ticket.given_at);
        });
    }

    /// Caches a response for the given times, under the same condition, and returns the body in its cached form.
    pub(crate) fn insert_response(
        &self,
        ticket: CacheTicket,
        key: ResponseKey,
        body: Vec<u8>,
        (from, until): (DateTime<Utc>, DateTime<Utc>),
    ) -> Bytes {
        // Without spare capacity, which is a quarter of most bodies.
        let body = Bytes::from(body.into_boxed_slice());
        let kept = body.clone();
        self.if_unchanged(ticket, || {
            let response = CachedResponse {
                body: kept,
                from,
                until,
                epoch: ticket.epoch,
            };
            self.responses
                .insert(key, Arc::new(response), ticket.given_at);
        });
        body
    }

    fn if_unchanged(&self, ticket: CacheTicket, insert: impl FnOnce()) {
        let epoch = self.epoch.read().unwrap_or_else(PoisonError::into_inner);
        if *epoch == ticket.epoch {
            insert();
        }
    }

    pub(crate) fn remove(&self, subjects: &[ChangeSubject]) {
        if subjects.is_empty() {
            return;
        }
        let mut epoch = self.epoch.write().unwrap_or_else(PoisonError::into_inner);
        *epoch += 1;
        for subject in subjects {
            match subject {
                ChangeSubject::Session(sid) => {
                    if let Ok(sid) = Uuid::try_parse(sid) {
                        self.sessions.forget(&sid);
                    }
                }
                ChangeSubject::User(id) => {
                    self.users.forget(id);
                    self.teams.forget(id);
                }
                ChangeSubject::Teams => self.teams.forget_all(),
                ChangeSubject::Keys => drop(self.keys.fetch_add(1, Ordering::AcqRel)),
                ChangeSubject::Client(id) => {
                    self.clients.forget(id.as_str());
                    self.origins.forget_all();
                }
            }
        }
    }

    pub(super) fn forget_all(&self) {
        let mut epoch = self.epoch.write().unwrap_or_else(PoisonError::into_inner);
        *epoch += 1;
        self.sessions.forget_all();
        self.users.forget_all();
        self.teams.forget_all();
        self.clients.forget_all();
        self.origins.forget_all();
        self.responses.forget_all();
        self.keys.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a number that grows each time the signing keys change.
    pub(crate) fn keys_generation(&self) -> u64 {
        self.keys.load(Ordering::Acquire)
    }

    /// Records that everything committed before `moment` has been read.
    pub(super) fn caught_up_at(&self, moment: ClockReading) {
        self.alive.read_until(moment);
    }

    /// Records that the feed is down, and empties the cache.
    pub(super) fn feed_went_down(&self) {
        self.alive.mark_down();
        self.forget_all();
    }
}

#[cfg(test)]
mod tests;
