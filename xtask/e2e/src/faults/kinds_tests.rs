use super::Kind;
use std::collections::BTreeSet;

#[test]
fn every_kind_has_a_name_of_its_own_and_breaks_something() {
    let names: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert!(Kind::ALL.iter().all(|kind| !kind.breaks().is_empty()));
}
