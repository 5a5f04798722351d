//! `cargo xtask events`: compares docs/events.md, its schemas and the AsyncAPI document with the event types.

use xtask_kit::cmd::{Result, cargo, run};

#[derive(clap::Args)]
pub(crate) struct EventsOptions {
    /// Write the schemas and the AsyncAPI document instead of comparing them, except schemas that break their version
    #[arg(long)]
    write: bool,
}

pub(crate) fn events(options: &EventsOptions) -> Result {
    let mut test = cargo();
    test.args([
        "test",
        "--locked",
        "-p",
        "event-types",
        "--lib",
        "--",
        "asyncapi::",
    ]);
    if options.write {
        test.env("HOLDFAST_WRITE_SCHEMAS", "true");
        test.arg("schemas::the_schemas");
    } else {
        test.arg("schemas::");
    }
    run(&mut test)
}
