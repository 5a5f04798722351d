//! What can be said of the repository without running the product for long: rules of the text, pages that are made from
//! types, licences, and what lies in `deploy`.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool speaks on standard output"
)]

mod config_reference;
mod dependencies;
mod events;
mod instructions;
mod kubernetes;
mod licences;
mod observe;
mod openapi;
mod production;
mod sbom;
mod source;
mod systemd;
mod tidy;
mod verdict;

use clap::Parser;
use std::process::ExitCode;
use xtask_kit::cmd;
use xtask_kit::envs;

#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Check {
    /// Check what the compiler does not: directions, lengths, where SQL stands
    Tidy,
    /// Check the licences and sources of the dependencies
    Licences,
    /// Print what a program is made of, as a CycloneDX document
    Sbom(sbom::Options),
    /// Check deploy/kubernetes: against the API's schemas, itself, the code's paths, and the programs
    Kubernetes(kubernetes::Options),
    /// Check the alert rules, their tests and the dashboard
    Alerts(observe::Options),
    /// Check the units in deploy/systemd with systemd's own tools
    Systemd,
    /// Check that every deployment in deploy/ sets what production must set
    Production,
    /// Compare docs/openapi with what the services say of themselves
    Openapi(openapi::Options),
    /// Compare docs/configuration.md with the types that the configuration is read into
    Config(config_reference::Options),
    /// Compare docs/events with the types of the events
    Events(events::Options),
    /// Count the instructions of a validation, and compare them with what is written down
    Instructions,
}

fn main() -> ExitCode {
    let check = Check::parse();
    cmd::task(|| match check {
        Check::Tidy => tidy::tidy(&envs::root()),
        Check::Licences => licences::licences(),
        Check::Sbom(options) => sbom::sbom(&options),
        Check::Kubernetes(options) => kubernetes::kubernetes(&options),
        Check::Alerts(options) => observe::alerts(&options),
        Check::Systemd => systemd::check(),
        Check::Production => production::production(),
        Check::Openapi(options) => openapi::openapi(&options),
        Check::Config(options) => config_reference::config(&options),
        Check::Events(options) => events::events(&options),
        Check::Instructions => instructions::check(),
    })
}
