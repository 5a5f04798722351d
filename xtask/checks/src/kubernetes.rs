//! `cargo xtask kubernetes`: checks deploy/kubernetes against the API schemas, itself, the paths in the code, and the programs
//! that it starts.
//!
//! A rule is a function from the content of the folder to complaints, so that its test can show it a bad case.

mod environment;
mod folder;
mod links;
mod listing;
mod paths;
mod settings;
mod workload;

pub(crate) use crate::kubernetes::folder::{items, text};

use crate::check_result::verdict;
use crate::kubernetes::folder::Folder;
use crate::source::below;
use xtask_kit::cmd::Result;
use xtask_kit::env_vars::root;
use xtask_kit::system;

/// The oldest version that knows all fields in use, and the newest one with schemas.
const VERSIONS: [&str; 2] = ["1.27", "1.37"];

/// The programs, each with the prefix of its settings.
const PROGRAMS: [(&str, &str); 3] = [
    ("identity-service", "IDENTITY"),
    ("worksession-service", "WORKSESSION"),
    ("notifier", "NOTIFIER"),
];

#[derive(clap::Args)]
pub(crate) struct KubernetesOptions {
    /// Skip the check of the settings, for which the programs are built
    #[arg(long)]
    quick: bool,
}

pub(crate) fn kubernetes(options: &KubernetesOptions) -> Result {
    manifests()?;
    if options.quick {
        return Ok(());
    }
    system::build(false, &PROGRAMS.map(|(program, _)| program))?;
    settings()
}

/// Checks everything that needs no programs.
pub(crate) fn manifests() -> Result {
    let folder = Folder::read(&root().join("deploy/kubernetes"), &VERSIONS)?;
    let mut complaints = folder.complaints.clone();
    complaints.extend(listing::check(&folder));
    complaints.extend(links::check(&folder));
    complaints.extend(environment::check(&folder));
    complaints.extend(paths::check(&folder, &below(&root().join("crates"))?));
    let (count, versions) = (folder.manifests.len(), VERSIONS.join(" and "));
    let good = format!("{count} manifests, for Kubernetes {versions}");
    verdict("kubernetes", &complaints, &good)
}

/// Has each program, which must be built, check the environment and the files of its pods.
pub(crate) fn settings() -> Result {
    let folder = Folder::read(&root().join("deploy/kubernetes"), &[])?;
    let complaints = settings::check(&folder, |program| system::binary(false, program))?;
    verdict(
        "kubernetes",
        &complaints,
        "each program accepts its pods' settings",
    )
}
