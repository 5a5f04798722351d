use db_kit::{Batcher, Db, Pool};

use super::find_lineage_account;
use super::rotation::{RefreshRotation, RotatedSession, rotate_many};

/// Coalesces concurrent refreshes: on PostgreSQL their rotations into one statement, on both databases their reads.
#[derive(Debug)]
pub(crate) struct RefreshBatcher {
    pub(in crate::sessions) rotations: Batcher<RefreshRotation, Option<RotatedSession>>,
    pub(in crate::sessions) sessions: Batcher<String, Option<RotatedSession>>,
}

impl RefreshBatcher {
    pub(crate) fn new(pool: &Pool) -> Self {
        let find = |db: &mut Db, lineages: &[String]| {
            let found = lineages
                .iter()
                .map(|lineage| find_lineage_account(db, lineage));
            Ok(found.collect::<Result<_, _>>()?)
        };
        Self {
            rotations: pool.batch_writes(|db, of| Ok(rotate_many(db, of)?), RefreshRotation::owner),
            sessions: pool.batch_reads(find),
        }
    }
}
