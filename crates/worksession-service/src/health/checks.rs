use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::{BrokerState, Queue};
use chrono::TimeDelta;
use db_kit::outbox;

use super::findings::HealthFindings;
use crate::app_state::AppState;

/// The time limit of each check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests share a report, because it is public and queries three dependencies.
const CACHED_FOR: Duration = Duration::from_millis(250);
/// Events that have waited longer than this count as behind.
const MAX_WAIT: TimeDelta = TimeDelta::seconds(60);

/// Checks the database, the identity service and the broker, or returns the findings of a moment ago.
pub(super) async fn check_all(state: &AppState) -> Arc<HealthFindings> {
    let mut last = state.health.last.lock().await;
    if let Some((when, findings)) = last
        .as_ref()
        .filter(|(when, _)| when.elapsed() < CACHED_FOR)
    {
        log::trace!("health report of {} ms ago", when.elapsed().as_millis());
        return Arc::clone(findings);
    }
    let findings = Arc::new(run_checks(state).await);
    *last = Some((Instant::now(), Arc::clone(&findings)));
    findings
}

async fn run_checks(state: &AppState) -> HealthFindings {
    let (backlog, identity, chat) = tokio::join!(
        check_backlog(state),
        state.identity.ping(CHECK_TIMEOUT),
        check_chat(state)
    );
    let mut issues = Vec::new();
    if backlog.is_none() {
        issues.push("Database connection failed");
    }
    if identity.is_none() {
        issues.push("Authentication service unreachable");
    }
    issues.extend(chat);
    HealthFindings {
        issues,
        is_behind: backlog.unwrap_or_default(),
        // On one machine there is only one caller anyway.
        is_address_untrusted: identity == Some(false) && state.config.is_public(),
    }
}

/// Whether events have waited too long; none if the database does not answer.
async fn check_backlog(state: &AppState) -> Option<bool> {
    let stats = state.read(outbox::stats);
    match tokio::time::timeout(CHECK_TIMEOUT, stats).await {
        Ok(Ok(stats)) => Some(
            stats
                .oldest
                .is_some_and(|oldest| state.clock.now_naive() - oldest > MAX_WAIT),
        ),
        Ok(Err(cause)) => {
            log::warn!("health: {cause}");
            None
        }
        Err(_) => None,
    }
}

/// Returns what prevents messages to team chats, if anything.
async fn check_chat(state: &AppState) -> Option<&'static str> {
    const OFFLINE: &str = "Chat integration offline: the message broker does not answer";
    if state.broker.state() == BrokerState::Disconnected {
        return Some(OFFLINE);
    }
    match tokio::time::timeout(CHECK_TIMEOUT, state.broker.consumers(Queue::NotifyChat)).await {
        Ok(Ok(0)) => Some("Chat integration offline: no notifier is running"),
        Ok(Ok(_)) => None,
        Ok(Err(_)) | Err(_) => Some(OFFLINE),
    }
}
