use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use moka::sync::Cache;
use tokio::sync::Mutex;

use super::board::Board;
use super::wire::Period;

/// Boards kept at once, counted by the users on them: some 50 MB, and four of the largest.
const KEPT_USERS: u64 = 500_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// 0 for everybody, else the team.
    pub(super) scope: i64,
    pub(super) period: Period,
    /// The period's first day.
    pub(super) start: NaiveDate,
}

/// Boards as they were a few seconds ago. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Boards {
    kept: Option<Cache<Key, Arc<Board>>>,
    /// Held while one request reads a board from the database; the others wait and share it.
    pub(super) reading: Arc<Mutex<()>>,
}

impl Boards {
    /// Boards that are kept for `life`; zero: never.
    pub(crate) fn new(life: Duration) -> Self {
        let cache = || {
            let weight = |_: &Key, board: &Arc<Board>| u32::try_from(board.len()).unwrap_or(1) + 1;
            Cache::builder()
                .max_capacity(KEPT_USERS)
                .weigher(weight)
                .time_to_live(life)
                .build()
        };
        Self {
            kept: (!life.is_zero()).then(cache),
            reading: Arc::default(),
        }
    }

    pub(super) fn find(&self, key: &Key) -> Option<Arc<Board>> {
        self.kept.as_ref()?.get(key)
    }

    pub(super) fn keep(&self, key: Key, board: &Arc<Board>) {
        if let Some(kept) = &self.kept {
            kept.insert(key, Arc::clone(board));
        }
    }
}
