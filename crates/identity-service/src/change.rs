//! One transaction that changes something, with all that follows from it: what every process has to forget,
//! events, mails and the audit log, written together with the change or not at all.

use std::sync::Arc;

use auth_types::{TeamRole, UserId};
use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use event_types::{
    EventData, Mail, MailRequested, MailText, MembershipChanged, SessionRevoked, TeamChanged,
    TeamRef, UserChanged,
};
use serde_json::json;
use service_kit::seal::Sealer;

use crate::accounts;
use crate::app::App;
use crate::audit::{self, Action, Entry};
use crate::error::Error;
use crate::feed::{self, Subject};
use crate::origin::Origin;
use crate::sessions;

/// The `source` of this service's events.
const SOURCE: &str = "identity-service";

/// A transaction under way.
pub(crate) struct Change<'a> {
    pub(crate) db: &'a mut Db,
    pub(crate) now: DateTime<Utc>,
    pub(crate) origin: &'a Origin,
    /// The public address, without a slash at its end.
    pub(crate) base_url: &'a str,
    mails: &'a Sealer,
    told: Told,
}

/// What a committed transaction leaves to be done in this process.
#[derive(Default)]
struct Told {
    subjects: Vec<Subject>,
    events: bool,
}

impl App {
    /// Runs one transaction. After its commit this process forgets what it changed, and its events are
    /// on their way; before that nobody is answered.
    pub(crate) async fn change<T, F>(&self, origin: &Origin, work: F) -> Result<T, Error>
    where
        F: FnOnce(&mut Change<'_>) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let (now, origin, mails) = (self.clock.now(), origin.clone(), self.sealers.mails.clone());
        let base_url = Arc::clone(&self.base_url);
        let (value, told) = self
            .pool
            .write_tx(move |db| {
                let mut change = Change {
                    db,
                    now,
                    origin: &origin,
                    base_url: &base_url,
                    mails: &mails,
                    told: Told::default(),
                };
                change.check_standing()?;
                let value = work(&mut change)?;
                let Change { db, told, .. } = change;
                // Last, so that next to nothing lies between their stamp and the commit.
                feed::queries::record(db, &told.subjects)?;
                Ok::<_, Error>((value, told))
            })
            .await?;
        self.memory.forget(&told.subjects);
        if told.events
            && let Some(relay) = &self.relay
        {
            relay.wake();
        }
        Ok(value)
    }
}

impl Change<'_> {
    /// Whether the caller may still do this. Looked at first of all, and again after a wait for something that may
    /// have ended it.
    pub(crate) fn check_standing(&mut self) -> Result<(), Error> {
        match &self.origin.standing {
            Some(standing) if !sessions::queries::may_change(self.db, standing)? => {
                Err(Error::TokenRevoked)
            }
            _ => Ok(()),
        }
    }

    /// Writes to the audit log; the actor and the address are the origin's.
    pub(crate) fn audit(&mut self, entry: &Entry) -> Result<(), Error> {
        self.audit_all(std::slice::from_ref(entry))
    }

    /// The same of many things at once.
    pub(crate) fn audit_all(&mut self, entries: &[Entry]) -> Result<(), Error> {
        Ok(audit::queries::record(
            self.db,
            entries,
            self.origin,
            self.now.naive_utc(),
        )?)
    }

    /// Writes to the audit log that sessions of an account were ended, and why where that is worth saying.
    pub(crate) fn audit_ended(
        &mut self,
        user_id: UserId,
        sids: &[String],
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let entry = |sid: &String| {
            let entry = Entry::on(Action::SIGNED_OUT, user_id).session(sid);
            match reason {
                Some(reason) => entry.details(json!({ "reason": reason })),
                None => entry,
            }
        };
        self.audit_all(&sids.iter().map(entry).collect::<Vec<_>>())
    }

    /// Ends what descends from these ended sessions, and has the end of all of them published: every process refuses
    /// their tokens within a second. With the last session of an OAuth client its access ends.
    pub(crate) fn end_descendants_and_publish(
        &mut self,
        user_id: UserId,
        sids: &[String],
    ) -> Result<(), Error> {
        if sids.is_empty() {
            return Ok(());
        }
        let now = self.now.naive_utc();
        let below = sessions::queries::end_descendants(self.db, sids, now)?;
        self.audit_ended(user_id, &below, Some("opener_ended"))?;
        for sids in [sids, &below].concat().chunks(SessionRevoked::MAX_SIDS) {
            self.told
                .subjects
                .extend(sids.iter().cloned().map(Subject::Session));
            let sids = sids.to_vec();
            let clients = sessions::queries::list_shut_out(self.db, user_id, &sids, now)?;
            self.publish(&SessionRevoked {
                user_id,
                sids,
                clients,
            })?;
        }
        Ok(())
    }

    /// An OAuth client that had no session any more has no access to this account from now on.
    pub(crate) fn client_shut_out(&mut self, user_id: UserId, id: &str) -> Result<(), Error> {
        self.publish(&SessionRevoked {
            user_id,
            sids: Vec::new(),
            clients: vec![id.to_owned()],
        })
    }

    /// What is remembered or shown of this account is out of date.
    pub(crate) fn user_changed(&mut self, user_id: UserId) -> Result<(), Error> {
        self.told.subjects.push(Subject::User(user_id));
        let account = accounts::queries::find_account(self.db, user_id)?;
        self.publish(&UserChanged {
            user_id,
            deleted: false,
            is_active: account.is_some_and(|account| account.is_active),
        })
    }

    /// The account is gone.
    pub(crate) fn user_deleted(&mut self, user_id: UserId) -> Result<(), Error> {
        self.told.subjects.push(Subject::User(user_id));
        self.publish(&UserChanged {
            user_id,
            deleted: true,
            is_active: false,
        })
    }

    /// What an account is in a team from now on; nothing when it is no member any more.
    pub(crate) fn membership_changed(
        &mut self,
        user_id: UserId,
        team: TeamRef,
        role: Option<TeamRole>,
    ) -> Result<(), Error> {
        self.told.subjects.push(Subject::User(user_id));
        self.publish(&MembershipChanged {
            user_id,
            team,
            role,
        })
    }

    /// A team was made, renamed or deleted.
    pub(crate) fn team_changed(&mut self, team: TeamRef, deleted: bool) -> Result<(), Error> {
        self.told.subjects.push(Subject::Teams);
        self.publish(&TeamChanged { team, deleted })
    }

    /// Signing keys were made, retired or removed.
    pub(crate) fn keys_changed(&mut self) {
        self.told.subjects.push(Subject::Keys);
    }

    /// An OAuth client was changed or deleted.
    pub(crate) fn client_changed(&mut self, id: &str) {
        self.told.subjects.push(Subject::Client(id.to_owned()));
    }

    /// Has a mail sent. Nothing of it but its kind is readable on the way.
    pub(crate) fn mail(&mut self, to: &str, text: MailText) -> Result<(), Error> {
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
        self.told.events = true;
        let request_id = self.origin.request_id.clone();
        Ok(outbox::enqueue(
            self.db, SOURCE, self.now, request_id, data,
        )?)
    }
}
