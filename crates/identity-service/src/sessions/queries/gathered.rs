use db_kit::{Db, Gather, Pool};

use super::find_lineage_account;
use super::rotation::{Rotated, Rotation, rotate_many};

/// Refreshes that come at the same time are done together: on PostgreSQL by one statement, on SQLite what they read.
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
