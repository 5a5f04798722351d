use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use moka::sync::Cache;
use tokio::sync::Mutex;

use super::model::Leaderboard;
use super::wire::Period;

/// The capacity of the cache in users on all boards: about 50 MB, or four of the largest boards.
const MAX_USERS: u64 = 500_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LeaderboardKey {
    /// 0 for everybody, otherwise the id of the team.
    pub(super) scope: i64,
    pub(super) period: Period,
    /// The first day of the period.
    pub(super) start: NaiveDate,
}

/// Leaderboards, cached for a few seconds. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LeaderboardCache {
    boards: Option<Cache<LeaderboardKey, Arc<Leaderboard>>>,
    /// Locked while a request reads a board from the database. The others wait and share the result.
    pub(super) reading: Arc<Mutex<()>>,
}

impl LeaderboardCache {
    /// Creates a cache whose boards expire after `life`; zero disables it.
    pub(crate) fn new(life: Duration) -> Self {
        let cache = || {
            let weight = |_: &LeaderboardKey, board: &Arc<Leaderboard>| {
                u32::try_from(board.len()).unwrap_or(1) + 1
            };
            Cache::builder()
                .max_capacity(MAX_USERS)
                .weigher(weight)
                .time_to_live(life)
                .build()
        };
        Self {
            boards: (!life.is_zero()).then(cache),
            reading: Arc::default(),
        }
    }

    pub(super) fn find(&self, key: &LeaderboardKey) -> Option<Arc<Leaderboard>> {
        self.boards.as_ref()?.get(key)
    }

    pub(super) fn insert(&self, key: LeaderboardKey, board: &Arc<Leaderboard>) {
        if let Some(boards) = &self.boards {
            boards.insert(key, Arc::clone(board));
        }
    }
}
