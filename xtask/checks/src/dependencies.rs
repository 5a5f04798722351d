//! The dependencies, as cargo reports them.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};
use std::collections::BTreeSet;
use xtask_kit::cmd::{Result, cargo};
use xtask_kit::env_vars;

/// Returns the metadata of the workspace and all its dependencies.
pub(crate) fn metadata() -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command
        .cargo_path(cargo().get_program())
        .current_dir(env_vars::root());
    command.other_options(vec!["--locked".to_owned()]);
    Ok(command.exec()?)
}

/// Returns all packages that these reach through normal and build dependencies. Build dependencies count, because the C
/// libraries come in through them; dependencies of tests are not linked.
pub(crate) fn reached(
    metadata: &Metadata,
    roots: impl IntoIterator<Item = PackageId>,
) -> BTreeSet<PackageId> {
    let Some(resolve) = &metadata.resolve else {
        return BTreeSet::new();
    };
    let mut seen = BTreeSet::new();
    let mut open: Vec<PackageId> = roots.into_iter().collect();
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let node = resolve.nodes.iter().find(|node| node.id == id);
        let uses = node.iter().flat_map(|node| &node.deps);
        let uses = uses.filter(|d| {
            d.dep_kinds
                .iter()
                .any(|k| k.kind != DependencyKind::Development)
        });
        open.extend(uses.map(|d| d.pkg.clone()));
    }
    seen
}
