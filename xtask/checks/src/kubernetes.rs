//! `cargo xtask kubernetes`: deploy/kubernetes against the schemas of the API, against itself, against the paths
//! in the code, and against the programs that it starts.
//!
//! A rule is a function from what lies in the folder to complaints, so that its test can show it a bad case.

mod environment;
mod folder;
mod links;
mod listing;
mod paths;
mod settings;
mod workload;

pub(crate) use crate::kubernetes::folder::{items, text};

use crate::kubernetes::folder::Folder;
use crate::source::below;
use crate::verdict::verdict;
use xtask_kit::cmd::Result;
use xtask_kit::{envs, system};

/// The oldest version that knows all fields that we use, and the newest that there are schemas of.
const VERSIONS: [&str; 2] = ["1.27", "1.37"];

/// The programs, each with the prefix of its settings.
const PROGRAMS: [(&str, &str); 3] = [
    ("identity-service", "IDENTITY"),
    ("worksession-service", "WORKSESSION"),
    ("notifier", "NOTIFIER"),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// All but what the programs say of their settings, for which they are built
    #[arg(long)]
    quick: bool,
}

pub(crate) fn kubernetes(options: &Options) -> Result {
    manifests()?;
    if options.quick {
        return Ok(());
    }
    system::build(false, &PROGRAMS.map(|(program, _)| program))?;
    settings()
}

/// What can be said without the programs.
pub(crate) fn manifests() -> Result {
    let folder = Folder::read(&envs::root().join("deploy/kubernetes"), &VERSIONS)?;
    let mut complaints = folder.complaints.clone();
    complaints.extend(listing::check(&folder));
    complaints.extend(links::check(&folder));
    complaints.extend(environment::check(&folder));
    complaints.extend(paths::check(&folder, &below(&envs::root().join("crates"))?));
    let (count, versions) = (folder.manifests.len(), VERSIONS.join(" and "));
    let good = format!("{count} manifests, for Kubernetes {versions}");
    verdict("kubernetes", &complaints, &good)
}

/// Has each program, which must be built, check the environment and the files that its pods give it.
pub(crate) fn settings() -> Result {
    let folder = Folder::read(&envs::root().join("deploy/kubernetes"), &[])?;
    let complaints = settings::check(&folder, |program| system::binary(false, program))?;
    verdict(
        "kubernetes",
        &complaints,
        "each program takes its pods' settings",
    )
}
