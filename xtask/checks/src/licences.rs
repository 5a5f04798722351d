//! `cargo xtask licences`: what is linked into the binaries, against the licences we accept.

use crate::verdict::verdict;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use spdx::{Expression, ParseMode};
use std::collections::BTreeSet;
use xtask_kit::cmd::{Result, cargo};
use xtask_kit::envs;

const ACCEPTED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "OpenSSL",
    "PostgreSQL",
    "Unicode-3.0",
    "Zlib",
];

/// What cargo knows of the workspace and all it uses.
pub(crate) fn metadata() -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command
        .cargo_path(cargo().get_program())
        .current_dir(envs::root());
    command.other_options(vec!["--locked".to_owned()]);
    Ok(command.exec()?)
}

pub(crate) fn licences() -> Result {
    let metadata = metadata()?;
    let linked = reached(&metadata, metadata.workspace_members.clone());
    let packages: Vec<&Package> = metadata
        .packages
        .iter()
        .filter(|p| linked.contains(&p.id))
        .collect();
    let complaints: Vec<String> = packages.iter().filter_map(|p| complaint(p)).collect();
    let good = format!("{} packages, all within the list", packages.len());
    verdict("licences", &complaints, &good)
}

fn complaint(package: &Package) -> Option<String> {
    let licence = package
        .license
        .as_deref()
        .unwrap_or("no licence expression");
    // Older manifests separate alternatives by a slash.
    let is_fine = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|wanted| {
            let id = wanted.license.id();
            id.is_some_and(|id| ACCEPTED.contains(&id.name))
        })
    });
    let Package { name, version, .. } = package;
    (!is_fine).then(|| {
        format!(
            "{name} {version}: {licence} is not in the list in {}",
            file!()
        )
    })
}

/// Everything these packages reach by normal and build dependencies. Build dependencies count,
/// because the C libraries come in through them; what only tests use is not linked.
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
