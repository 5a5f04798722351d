//! `cargo xtask openapi`: docs/openapi against what the services say of themselves.

use crate::cmd::{Result, cargo, fail, output, run};
use crate::envs;
use std::process::Command;

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
    let mut build = cargo();
    build.arg("build");
    for (program, _) in SERVICES {
        build.args(["--package", program]);
    }
    run(&mut build)?;
    let dir = envs::root().join("docs/openapi");
    for (program, file) in SERVICES {
        let program = envs::target_dir().join("debug").join(program);
        let now = output(Command::new(program).arg("openapi"))?;
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
