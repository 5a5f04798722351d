//! One transaction and everything that follows from it. The change, its change-feed rows, events, mails and audit
//! entries are written together or not at all.

use std::sync::Arc;

use auth_types::{TeamRole, UserId};
use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use event_types::{
    EventData, LogoutRequested, Mail, MailRequested, MailTemplate, MembershipChanged,
    SessionRevoked, TeamChanged, TeamRef, UserChanged,
};
use serde_json::json;
use service_kit::seal::Sealer;

use crate::accounts;
use crate::app::App;
use crate::audit::{self, AuditAction, NewAuditEntry};
use crate::change_feed::{self, ChangeSubject};
use crate::error::Error;
use crate::oauth::logout::UnsignedLogout;
use crate::request_context::RequestContext;
use crate::sessions;
use crate::sessions::queries::ClientSession;

/// The CloudEvents `source` of this service's events.
const SOURCE: &str = "identity-service";

/// An open transaction, with the operations that belong in it.
pub(crate) struct Transaction<'a> {
    pub(crate) db: &'a mut Db,
    pub(crate) now: DateTime<Utc>,
    pub(crate) context: &'a RequestContext,
    /// The public address, without a trailing slash.
    pub(crate) base_url: &'a str,
    mails: &'a Sealer,
    logouts: &'a Sealer,
    effects: CommitEffects,
}

/// The work that this process does after the commit.
#[derive(Default)]
struct CommitEffects {
    subjects: Vec<ChangeSubject>,
    events: bool,
}

impl App {
    /// Runs one transaction. After the commit it drops what became stale from this process's memory and wakes the
    /// relay. No response precedes the commit.
    pub(crate) async fn transact<T, F>(&self, context: &RequestContext, work: F) -> Result<T, Error>
    where
        F: FnOnce(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let (now, context) = (self.clock.now(), context.clone());
        let (mails, logouts) = (self.sealers.mails.clone(), self.sealers.logouts.clone());
        let base_url = Arc::clone(&self.base_url);
        let (value, effects) = self
            .pool
            .write_tx(move |db| {
                let mut tx = Transaction {
                    db,
                    now,
                    context: &context,
                    base_url: &base_url,
                    mails: &mails,
                    logouts: &logouts,
                    effects: CommitEffects::default(),
                };
                tx.check_session()?;
                let value = work(&mut tx)?;
                let Transaction { db, effects, .. } = tx;
                // Written last, so that little time passes between the rows' timestamp and the commit.
                change_feed::queries::record(db, &effects.subjects)?;
                Ok::<_, Error>((value, effects))
            })
            .await?;
        self.cache.remove(&effects.subjects);
        if effects.events
            && let Some(relay) = self.relay.get()
        {
            relay.wake();
        }
        Ok(value)
    }
}

impl Transaction<'_> {
    /// Returns an error when the caller may no longer make this change. Every transaction checks this first, and
    /// again after waiting for a lock whose holder may have revoked the caller's access.
    pub(crate) fn check_session(&mut self) -> Result<(), Error> {
        match &self.context.session_check {
            Some(check) if !sessions::queries::may_change(self.db, check)? => {
                Err(Error::TokenRevoked)
            }
            _ => Ok(()),
        }
    }

    /// Writes an entry to the audit log, with actor and address from the context.
    pub(crate) fn audit(&mut self, entry: &NewAuditEntry) -> Result<(), Error> {
        self.audit_all(std::slice::from_ref(entry))
    }

    /// Writes several entries to the audit log, with actor and address from the context.
    pub(crate) fn audit_all(&mut self, entries: &[NewAuditEntry]) -> Result<(), Error> {
        Ok(audit::queries::record(
            self.db,
            entries,
            self.context,
            self.now.naive_utc(),
        )?)
    }

    /// Records in the audit log that sessions of an account were ended, with the reason if there is one.
    pub(crate) fn audit_ended(
        &mut self,
        user_id: UserId,
        sids: &[String],
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let entry = |sid: &String| {
            let entry = NewAuditEntry::on(AuditAction::SIGNED_OUT, user_id).session(sid);
            match reason {
                Some(reason) => entry.details(json!({ "reason": reason })),
                None => entry,
            }
        };
        self.audit_all(&sids.iter().map(entry).collect::<Vec<_>>())
    }

    /// Ends the sessions derived from these ended ones and publishes the end of them all. Every process rejects their
    /// tokens within a second. An OAuth client whose last session ends here loses its access to the account. Clients
    /// with a back-channel logout address are called, and sign out with the session in which the user authorized them.
    pub(crate) fn end_derived_and_publish(
        &mut self,
        user_id: UserId,
        sids: &[String],
    ) -> Result<(), Error> {
        if sids.is_empty() {
            return Ok(());
        }
        let now = self.now.naive_utc();
        let below = sessions::queries::end_derived_sessions(self.db, sids, now)?;
        self.audit_ended(user_id, &below, Some("opener_ended"))?;
        let mut ended = [sids, &below].concat();
        ended.extend(self.request_logouts(user_id, &ended)?);
        for sids in ended.chunks(SessionRevoked::MAX_SIDS) {
            self.effects
                .subjects
                .extend(sids.iter().cloned().map(ChangeSubject::Session));
            let sids = sids.to_vec();
            let clients =
                sessions::queries::list_clients_without_session(self.db, user_id, &sids, now)?;
            self.publish(&SessionRevoked {
                user_id,
                sids,
                clients,
            })?;
        }
        Ok(())
    }

    /// Requests a logout call for each of these ended sessions, and for each live one that was authorized in one of
    /// them. Ends the latter, except with offline access (Back-Channel Logout section 2.7), and returns their ids.
    fn request_logouts(&mut self, user_id: UserId, ended: &[String]) -> Result<Vec<String>, Error> {
        let now = self.now.naive_utc();
        let mut following = Vec::new();
        for ended in ended.chunks(SessionRevoked::MAX_SIDS) {
            for session in sessions::queries::list_sessions_to_call(self.db, ended)? {
                let ends = session.is_unrevoked && !session.is_offline;
                if ends && sessions::queries::revoke(self.db, &session.id, now)? {
                    following.push(session.id.clone());
                }
                self.request_logout(user_id, session)?;
            }
        }
        self.audit_ended(user_id, &following, Some("sign_in_ended"))?;
        Ok(following)
    }

    /// Enqueues a logout call. The relay signs its tokens when it publishes the event.
    pub(crate) fn request_logout(
        &mut self,
        user_id: UserId,
        session: ClientSession,
    ) -> Result<(), Error> {
        let Some(call) = UnsignedLogout::new(user_id, &session)? else {
            return Ok(());
        };
        let sealed = call.seal(self.logouts, &session.client_id)?;
        self.publish(&LogoutRequested {
            client_id: session.client_id,
            sealed,
        })
    }

    /// Publishes that an OAuth client without a session has lost its access to this account.
    pub(crate) fn publish_client_revoked(
        &mut self,
        user_id: UserId,
        id: &str,
    ) -> Result<(), Error> {
        self.publish(&SessionRevoked {
            user_id,
            sids: Vec::new(),
            clients: vec![id.to_owned()],
        })
    }

    /// Invalidates what is cached about an account and publishes that it was changed or deleted.
    pub(crate) fn user_changed(&mut self, user_id: UserId) -> Result<(), Error> {
        self.effects.subjects.push(ChangeSubject::User(user_id));
        let account = accounts::queries::find_account(self.db, user_id)?;
        self.publish(&UserChanged {
            user_id,
            deleted: account.is_none(),
            is_active: account.is_some_and(|account| account.is_active),
        })
    }

    /// Publishes an account's new role in a team, or `None` once it is no longer a member.
    pub(crate) fn membership_changed(
        &mut self,
        user_id: UserId,
        team: TeamRef,
        role: Option<TeamRole>,
    ) -> Result<(), Error> {
        self.effects.subjects.push(ChangeSubject::User(user_id));
        self.publish(&MembershipChanged {
            user_id,
            team,
            role,
        })
    }

    /// Publishes that a team was created, renamed or deleted.
    pub(crate) fn team_changed(&mut self, team: TeamRef, deleted: bool) -> Result<(), Error> {
        self.effects.subjects.push(ChangeSubject::Teams);
        self.publish(&TeamChanged { team, deleted })
    }

    /// Records that signing keys were created, retired or removed.
    pub(crate) fn keys_changed(&mut self) {
        self.effects.subjects.push(ChangeSubject::Keys);
    }

    /// Records that an OAuth client was changed or deleted.
    pub(crate) fn client_changed(&mut self, id: &str) {
        self.effects
            .subjects
            .push(ChangeSubject::Client(id.to_owned()));
    }

    /// Enqueues a mail. Its content is sealed; only the template's name is readable on the way.
    pub(crate) fn mail(&mut self, to: &str, text: MailTemplate) -> Result<(), Error> {
        let template = text.template();
        let mail = Mail {
            to: to.to_owned(),
            text,
        };
        let plain =
            serde_json::to_vec(&mail).map_err(|error| Error::internal("writing a mail", error))?;
        let sealed = self
            .mails
            .seal(&MailRequested::seal_context(template), &plain)
            .map_err(|error| Error::internal("sealing a mail", error))?;
        self.publish(&MailRequested {
            template: template.to_owned(),
            sealed,
        })
    }

    fn publish<T: EventData>(&mut self, data: &T) -> Result<(), Error> {
        self.effects.events = true;
        let request_id = self.context.request_id.clone();
        Ok(outbox::enqueue(
            self.db, SOURCE, self.now, request_id, data,
        )?)
    }
}
