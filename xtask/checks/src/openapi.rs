//! `cargo xtask openapi`: docs/openapi against what the services say of themselves.

use std::process::Command;
use xtask_kit::cmd::{Result, fail, output};
use xtask_kit::{envs, system};

/// Each service's program and its file.
const SERVICES: [(&str, &str); 2] = [
    ("identity-service", "identity.json"),
    ("worksession-service", "worksession.json"),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the files instead of comparing them
    #[arg(long)]
    write: bool,
}

pub(crate) fn openapi(options: &Options) -> Result {
    system::build(false, &SERVICES.map(|(program, _)| program))?;
    let dir = envs::root().join("docs/openapi");
    for (program, file) in SERVICES {
        let now = output(Command::new(system::binary(false, program)).arg("openapi"))?;
        let path = dir.join(file);
        if options.write {
            std::fs::create_dir_all(&dir)?;
            std::fs::write(&path, now)?;
            println!("openapi: wrote docs/openapi/{file}");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != now {
            return fail(format!(
                "docs/openapi/{file} is not what the code says: cargo xtask openapi --write"
            ));
        }
    }
    Ok(())
}
