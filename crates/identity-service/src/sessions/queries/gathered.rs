use db_kit::{Db, Gather, Pool};

use super::find_lineage_account;
use super::rotation::{Rotated, Rotation, rotate_many};

/// Coalesces concurrent refreshes: on PostgreSQL their rotations into one statement, on both databases their reads.
#[derive(Debug)]
pub(crate) struct Refreshes {
    pub(in crate::sessions) rotations: Gather<Rotation, Option<Rotated>>,
    pub(in crate::sessions) sessions: Gather<String, Option<Rotated>>,
}

impl Refreshes {
    pub(crate) fn new(pool: &Pool) -> Self {
        let find = |db: &mut Db, lineages: &[String]| {
            let found = lineages
                .iter()
                .map(|lineage| find_lineage_account(db, lineage));
            Ok(found.collect::<Result<_, _>>()?)
        };
        Self {
            rotations: pool.gather_writes(|db, of| Ok(rotate_many(db, of)?), Rotation::owner),
            sessions: pool.gather(find),
        }
    }
}
