//! Housekeeping: deletes expired rows and rotates signing keys by age. Every replica runs it without getting in the
//! way of the others, and a failed run is repeated.

mod queries;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use auth_types::UserId;
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use db_kit::Db;
use diesel::QueryResult;
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};
use service_kit::metrics::Metrics;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use self::queries::{BATCH, OUTLIVED};
use crate::app::App;
use crate::change_feed;
use crate::error::Error;
use crate::oauth::clients::deletion::end_orphaned_sessions;
use crate::request_context::{RequestChannel, RequestContext};
use crate::sessions;
use crate::tokens::key_rotation;

/// The interval between two passes over the larger tables, by the service's clock.
const HOURLY: TimeDelta = TimeDelta::hours(1);

#[derive(Clone)]
pub(crate) struct HousekeepingMetrics {
    removed: IntCounterVec,
    failures: IntCounter,
    last_success: IntGauge,
}

impl HousekeepingMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Result<Self, prometheus::Error> {
        let removed = Opts::new(
            "housekeeping_removed_total",
            "Rows that housekeeping removed, by kind",
        );
        Ok(Self {
            removed: metrics.register(IntCounterVec::new(removed, &["kind"])?)?,
            failures: metrics.register(IntCounter::new(
                "housekeeping_failures_total",
                "Housekeeping rounds that failed",
            )?)?,
            last_success: metrics.register(IntGauge::new(
                "housekeeping_last_success_timestamp_seconds",
                "Time of the last successful housekeeping round",
            )?)?,
        })
    }
}

/// The housekeeping task, which runs until it is stopped.
#[derive(Debug)]
pub(crate) struct Housekeeping {
    task: JoinHandle<()>,
}

impl Housekeeping {
    /// Starts housekeeping at once, and repeats it at the interval `every`. Keys older than `rotate_after` are rotated.
    pub(crate) fn spawn(
        app: Arc<App>,
        figures: HousekeepingMetrics,
        every: Duration,
        rotate_after: Option<TimeDelta>,
    ) -> Self {
        let mut keeper = Housekeeper {
            app,
            figures,
            rotate_after,
            looked_through: None,
        };
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut failing = false;
            loop {
                ticks.tick().await;
                match keeper.round().await {
                    Ok(()) if std::mem::take(&mut failing) => {
                        log::info!("housekeeping works again")
                    }
                    Ok(()) => {}
                    Err(error) => {
                        keeper.figures.failures.inc();
                        // Logged once per outage.
                        if !std::mem::replace(&mut failing, true) {
                            log::warn!("housekeeping failed, and will be retried: {error}");
                        }
                    }
                }
            }
        });
        Self { task }
    }

    /// Stops the task. A running transaction completes on its own thread.
    pub(crate) async fn stop(self) {
        self.task.abort();
        // Ends with the cancellation requested above.
        drop(self.task.await);
    }
}

struct Housekeeper {
    app: Arc<App>,
    figures: HousekeepingMetrics,
    rotate_after: Option<TimeDelta>,
    looked_through: Option<DateTime<Utc>>,
}

impl Housekeeper {
    async fn round(&mut self) -> Result<(), Error> {
        self.remove("change", |db, _| change_feed::queries::sweep(db))
            .await?;
        let now = self.app.clock.now();
        // A clock that was set back counts as an hour.
        let recent = |at: &DateTime<Utc>| *at <= now && now - *at < HOURLY;
        if !self.looked_through.as_ref().is_some_and(recent) {
            self.look_through().await?;
            self.looked_through = Some(now);
        }
        self.figures.last_success.set(now.timestamp());
        Ok(())
    }

    /// Runs all jobs; a failed one does not stop the others.
    async fn look_through(&self) -> Result<(), Error> {
        let mut outcomes = vec![
            self.end_expired().await,
            self.remove_sessions().await,
            self.end_orphans().await,
            self.tend_keys().await,
        ];
        for rows in OUTLIVED {
            let delete = move |db: &mut Db, now| queries::delete_outlived(db, rows, now);
            outcomes.push(self.remove(rows.kind, delete).await);
        }
        outcomes.into_iter().collect()
    }

    /// Deletes batch after batch until none is left, or until another replica holds the lock.
    async fn remove(
        &self,
        kind: &str,
        delete: impl Fn(&mut Db, NaiveDateTime) -> QueryResult<usize> + Copy + Send + 'static,
    ) -> Result<(), Error> {
        loop {
            let now = self.app.clock.now_naive();
            let removed = self.batch(kind, move |db| delete(db, now)).await?;
            if removed < usize::from(BATCH) {
                return Ok(());
            }
        }
    }

    /// Ends expired SSO sessions, their descendants, and sessions of clients with a back-channel logout address, so that
    /// others are notified. A parent waits for its children, hence the loop.
    async fn end_expired(&self) -> Result<(), Error> {
        loop {
            let now = self.app.clock.now_naive();
            let expired = self.app.read(move |db| queries::list_expired(db, now));
            let mut by_user: BTreeMap<UserId, Vec<String>> = BTreeMap::new();
            for (sid, user_id) in expired.await? {
                by_user.entry(user_id).or_default().push(sid);
            }
            let mut ended = 0;
            for (user_id, sids) in by_user {
                ended += sessions::revocation::end_expired(&self.app, user_id, sids).await?;
            }
            self.count("expired_session", ended);
            if ended == 0 {
                return Ok(());
            }
        }
    }

    /// Selects sessions before taking the write lock, because that may read all of them.
    async fn remove_sessions(&self) -> Result<(), Error> {
        let ttl = TimeDelta::seconds(self.app.tokens.expires_in());
        loop {
            let now = self.app.clock.now_naive();
            let over = self
                .app
                .read(move |db| queries::list_over_sessions(db, now, ttl))
                .await?;
            let removed = self
                .batch("session", move |db| queries::delete_sessions(db, &over))
                .await?;
            // Sessions with children are found only after these are gone.
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Runs one short transaction, which does nothing if another replica holds the lock.
    async fn batch(
        &self,
        kind: &str,
        delete: impl FnOnce(&mut Db) -> QueryResult<usize> + Send + 'static,
    ) -> Result<usize, Error> {
        let removed = self
            .app
            .pool
            .write_tx(move |db| {
                if !queries::is_ours(db)? {
                    return Ok(0);
                }
                Ok::<_, Error>(delete(db)?)
            })
            .await?;
        self.count(kind, removed);
        Ok(removed)
    }

    async fn end_orphans(&self) -> Result<(), Error> {
        let ended = end_orphaned_sessions(&self.app).await?;
        self.count("orphaned_session", ended);
        Ok(())
    }

    async fn tend_keys(&self) -> Result<(), Error> {
        let context = RequestContext::local(RequestChannel::System);
        if let Some(age) = self.rotate_after {
            let rotated = key_rotation::rotate_when_older(&self.app, &context, age).await?;
            for rotated in rotated.iter().filter(|rotated| rotated.changed) {
                log::info!(
                    "a signing key was rotated because of its age; {} signs from {}",
                    rotated.kid,
                    rotated.signs_from
                );
            }
        }
        let removed = key_rotation::remove_expired(&self.app, &context).await?;
        self.count("signing_key", removed);
        Ok(())
    }

    fn count(&self, kind: &str, removed: usize) {
        let removed = u64::try_from(removed).unwrap_or(u64::MAX);
        self.figures
            .removed
            .with_label_values(&[kind])
            .inc_by(removed);
    }
}
