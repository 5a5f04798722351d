//! `cargo xtask events`: compares docs/events.md and its schemas with the event types.

use xtask_kit::cmd::{Result, cargo, run};

#[derive(clap::Args)]
pub(crate) struct EventsOptions {
    /// Write the schemas instead of comparing them, except those that break the compatibility of their version
    #[arg(long)]
    write: bool,
}

pub(crate) fn events(options: &EventsOptions) -> Result {
    let mut test = cargo();
    test.args(["test", "--locked", "-p", "event-types", "--lib", "--"]);
    if options.write {
        test.env("HOLDFAST_WRITE_SCHEMAS", "true");
        test.arg("schemas::the_schemas");
    } else {
        test.arg("schemas::");
    }
    run(&mut test)
}
