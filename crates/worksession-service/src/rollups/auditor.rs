use std::time::Duration;

use auth_types::UserId;
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use db_kit::Db;
use prometheus::IntCounter;
use service_kit::metrics::Metrics;

use super::{leaderboard_retention, rebuild};
use crate::app_state::{AppState, State};
use crate::background_job::BackgroundJob;
use crate::config::AuditConfig;
use crate::error::Error;

/// The most differences that are logged per user.
const MAX_LOGGED: usize = 5;

/// The counters of the audits.
#[derive(Debug, Clone)]
pub(crate) struct RollupAuditMetrics {
    users: IntCounter,
    differing: IntCounter,
}

impl RollupAuditMetrics {
    /// Registers the counters.
    ///
    /// # Errors
    /// When a metric of the same name is already registered.
    pub(crate) fn register(metrics: &Metrics) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str| metrics.register(IntCounter::new(name, help)?);
        Ok(Self {
            users: counter(
                "worksession_rollup_audits_total",
                "Users whose rollups were compared with their sessions",
            )?,
            differing: counter(
                "worksession_rollup_audit_differences_total",
                "Users whose rollups differed from their sessions",
            )?,
        })
    }
}

/// Compares the rollups of some users with their sessions once a night, and prunes old boards. Each night takes the
/// next users, so that all of them are compared. The job checks each `every` whether a new night has begun.
pub(crate) fn spawn(state: State, metrics: RollupAuditMetrics, every: Duration) -> BackgroundJob {
    let config = state.config.audit;
    let mut last = night(state.clock.now(), config);
    let failure = "the nightly audit of the rollups failed";
    BackgroundJob::spawn(every, failure, state, move |state| {
        let now = night(state.clock.now(), config);
        let is_new_night = now > last;
        last = last.max(now);
        let metrics = metrics.clone();
        async move {
            if is_new_night {
                audit(&state, &metrics, now).await?;
            }
            Ok(())
        }
    })
}

/// Returns the date of the night that `now` falls into. A night begins at the configured hour (UTC).
fn night(now: DateTime<Utc>, config: AuditConfig) -> NaiveDate {
    (now - TimeDelta::hours(config.hour.into())).date_naive()
}

async fn audit(
    state: &AppState,
    metrics: &RollupAuditMetrics,
    night: NaiveDate,
) -> Result<(), Error> {
    if let Err(cause) = leaderboard_retention::prune(state).await {
        log::warn!("old leaderboards could not be deleted: {cause}");
    }
    let users = sample(state, night).await?;
    let (compared, mut differing) = (users.len(), 0);
    for user in users {
        let today = state.clock.now().date_naive();
        let comparison = state.pool.read(move |db| rebuild::compare(db, user, today));
        let differences = match comparison.await {
            Ok(differences) => differences,
            Err(cause) => {
                log::warn!("rollups of user {user} could not be checked: {cause}");
                continue;
            }
        };
        metrics.users.inc();
        if !differences.is_empty() {
            differing += 1;
            metrics.differing.inc();
            let logged: Vec<_> = differences.iter().take(MAX_LOGGED).cloned().collect();
            log::error!(
                "rollups of user {user} differ from the sessions in {} places; `admin rebuild-rollups --user {user}` \
                 repairs them: {}",
                differences.len(),
                logged.join("; ")
            );
        }
    }
    log::info!("compared the rollups of {compared} users with their sessions, {differing} differ");
    Ok(())
}

/// Returns the users of this night: the next `audit.users` of them, in a cycle through all users with totals.
async fn sample(state: &AppState, night: NaiveDate) -> Result<Vec<UserId>, Error> {
    let each = i64::from(state.config.audit.users);
    let nights = (night - NaiveDate::default()).num_days();
    let next = move |db: &mut Db| {
        let all = rebuild::count_users(db)?;
        let first = nights.saturating_mul(each).checked_rem(all).unwrap_or(0);
        let mut users = rebuild::list_users(db, first, each)?;
        let missing = each.min(all) - i64::try_from(users.len()).unwrap_or(each);
        if missing > 0 {
            users.extend(rebuild::list_users(db, 0, missing)?);
        }
        Ok(users)
    };
    state.read(next).await
}
