//! `cargo xtask openapi`: compares docs/openapi with the services' own OpenAPI documents.

use crate::check_result::compare;
use std::process::Command;
use xtask_kit::cmd::{Result, output};
use xtask_kit::system;

/// The program of each service, and its file.
const SERVICES: [(&str, &str); 2] = [
    ("identity-service", "docs/openapi/identity.json"),
    ("worksession-service", "docs/openapi/worksession.json"),
];

#[derive(clap::Args)]
pub(crate) struct OpenapiOptions {
    /// Write the files instead of comparing them
    #[arg(long)]
    write: bool,
}

pub(crate) fn openapi(options: &OpenapiOptions) -> Result {
    system::build(false, &SERVICES.map(|(program, _)| program))?;
    for (program, file) in SERVICES {
        let now = output(Command::new(system::binary(false, program)).arg("openapi"))?;
        compare("openapi", file, &now, options.write)?;
    }
    Ok(())
}
