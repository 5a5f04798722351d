//! Checks of the repository that need no long run of the product: rules of the text, pages that are made from types,
//! licences, and the files in `deploy`.
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool prints to standard output"
)]

mod check_result;
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

use clap::Parser;
use std::process::ExitCode;
use xtask_kit::cmd;
use xtask_kit::env_vars;

#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Check {
    /// Check rules that the compiler does not know: dependency directions, file lengths, where SQL is
    Tidy,
    /// Check the licences and sources of the dependencies
    Licences,
    /// Print the components of a program as a CycloneDX document
    Sbom(sbom::SbomOptions),
    /// Check deploy/kubernetes against the API schemas, itself, the paths in the code, and the programs
    Kubernetes(kubernetes::KubernetesOptions),
    /// Check the alert rules, their tests and the dashboard
    Alerts(observe::AlertsOptions),
    /// Check the units in deploy/systemd with systemd's own tools
    Systemd,
    /// Check that every deployment in deploy/ has the settings that production needs
    Production,
    /// Compare docs/openapi with the services' own OpenAPI documents
    Openapi(openapi::OpenapiOptions),
    /// Compare docs/configuration.md with the configuration types
    Config(config_reference::ConfigOptions),
    /// Compare docs/events with the event types
    Events(events::EventsOptions),
    /// Count the CPU instructions of a token validation and compare them with the recorded number
    Instructions,
}

fn main() -> ExitCode {
    let check = Check::parse();
    cmd::task(|| match check {
        Check::Tidy => tidy::tidy(&env_vars::root()),
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
