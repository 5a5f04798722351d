//! The memory that all request bodies of a process may take together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Problem;
use crate::memory_budget::MemoryBudget;

/// A body up to this size in bytes needs no share: the number of connections bounds these. Nearly all bodies are smaller.
pub(crate) const TINY: usize = 4 * 1024;
/// A body over this size in bytes is large.
pub(crate) const MEDIUM: usize = 64 * 1024;
/// Bytes that the connection of a body takes besides: the buffers of the HTTP library, which a sender can fill. They matter
/// little for a large body.
const BUFFERS: usize = 128 * 1024;
/// Large bodies that one holder may send at the same time.
const MOST_PER_HOLDER: usize = 2;
/// Seconds after which a rejected caller may try again.
const RETRY_SECONDS: u64 = 5;

/// The sender whose large bodies are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyHolder {
    /// An account, known from its token before the body is read.
    Account(i64),
    /// The address of the client, if no account is known.
    Address(IpAddr),
}

/// The memory for request bodies, shared by all servers of a process.
///
/// A body takes its share before it is read, and keeps it until its request is answered. Without a free share, the response is
/// 503 with `Retry-After`, and nothing of the body is read.
#[derive(Debug, Clone)]
pub struct BodyBudget(Arc<BudgetUsage>);

#[derive(Debug)]
struct BudgetUsage {
    /// Both count bytes.
    large: Arc<Semaphore>,
    medium: Arc<Semaphore>,
    holders: Mutex<HashMap<BodyHolder, usize>>,
}

/// A share of the budget, which is returned when this is dropped.
#[derive(Debug)]
pub struct BodyPermit {
    _bytes: OwnedSemaphorePermit,
    _slot: Option<HolderSlot>,
}

/// One of the large bodies that a holder may send.
#[derive(Debug)]
struct HolderSlot {
    usage: Arc<BudgetUsage>,
    holder: BodyHolder,
}

impl BodyBudget {
    /// Creates a budget of `large_mib` MiB for bodies over 64 KiB; if not given, that of [`MemoryBudget`].
    #[must_use]
    pub fn new(large_mib: Option<u32>) -> Self {
        let memory = MemoryBudget::of_this_process();
        let large = large_mib.map_or(memory.large_bodies, |mib| u64::from(mib) << 20);
        Self::of_bytes(large, memory.medium_bodies)
    }

    fn of_bytes(large: u64, medium: u64) -> Self {
        let semaphore = |bytes: u64| {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS)))
        };
        Self(Arc::new(BudgetUsage {
            large: semaphore(large),
            medium: semaphore(medium),
            holders: Mutex::default(),
        }))
    }

    /// Takes a share of this many bytes; none for a tiny body.
    ///
    /// # Errors
    /// 503 when this holder, or all of them together, send too much at the moment.
    pub fn take(&self, holder: BodyHolder, bytes: usize) -> Result<Option<BodyPermit>, Problem> {
        if bytes <= TINY {
            return Ok(None);
        }
        let (semaphore, bytes, slot) = if bytes <= MEDIUM {
            (&self.0.medium, bytes + BUFFERS, None)
        } else {
            (&self.0.large, bytes, Some(self.slot(holder)?))
        };
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        let bytes = Arc::clone(semaphore).try_acquire_many_owned(count);
        let bytes = bytes.map_err(|_| unavailable("Too many request bodies are being received"))?;
        Ok(Some(BodyPermit {
            _bytes: bytes,
            _slot: slot,
        }))
    }

    fn slot(&self, holder: BodyHolder) -> Result<HolderSlot, Problem> {
        let mut holders = self.0.holders.lock();
        let count = holders.entry(holder).or_default();
        if *count >= MOST_PER_HOLDER {
            return Err(unavailable(
                "At most two large requests of one account can be received at the same time",
            ));
        }
        *count += 1;
        let usage = Arc::clone(&self.0);
        Ok(HolderSlot { usage, holder })
    }
}

impl Drop for HolderSlot {
    fn drop(&mut self) {
        let mut holders = self.usage.holders.lock();
        if let Entry::Occupied(mut entry) = holders.entry(self.holder) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

fn unavailable(message: &'static str) -> Problem {
    Problem::unavailable(message, RETRY_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: BodyHolder = BodyHolder::Account(1);
    const BOB: BodyHolder = BodyHolder::Account(2);
    const KIB: usize = 1024;

    #[test]
    fn one_account_holds_two_large_bodies_and_leaves_the_rest_to_others() {
        let budget = BodyBudget::of_bytes(1024 * 1024, 128 * 1024);
        let first = budget.take(ADA, 300 * KIB).expect("free");
        let _second = budget.take(ADA, 300 * KIB).expect("free");
        let refused = budget.take(ADA, 65 * KIB).expect_err("a third");
        assert_eq!(
            (refused.status.as_u16(), refused.retry_after),
            (503, Some(5))
        );
        let _of_bob = budget.take(BOB, 300 * KIB).expect("free");
        // No share of that size is left. A rejected request holds nothing.
        assert!(budget.take(BOB, 300 * KIB).is_err());
        let fits = budget.take(BOB, 100 * KIB).expect("free");
        drop((first, fits));
        assert!(budget.take(ADA, 300 * KIB).is_ok());
        assert_eq!(budget.0.holders.lock().len(), 2);
    }

    #[test]
    fn smaller_bodies_have_a_budget_of_their_own_and_tiny_ones_need_none() {
        let budget = BodyBudget::of_bytes(1024 * 1024, 384 * 1024);
        let _medium = [64, 64].map(|kib| budget.take(ADA, kib * KIB).expect("free"));
        assert!(budget.take(BOB, 5 * KIB).is_err());
        assert!(budget.take(BOB, 4 * KIB).expect("always").is_none());
        assert!(budget.take(BOB, 65 * KIB).expect("free").is_some());
    }
}
