//! Runs the admin commands of the program on the database of a test.

use std::process::Command;

use serde_json::Value;

use crate::service_fixture::Service;

/// The exit code and the output of a command.
pub struct CommandOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Returns an admin command of the program, on the service's database.
pub fn admin_command(service: &Service, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_worksession-service"));
    command
        .arg("admin")
        .args(args)
        .env_clear()
        .env("WORKSESSION__DATABASE__URL", service.database.url());
    command
}

pub fn run_admin(service: &Service, args: &[&str]) -> CommandOutput {
    let output = admin_command(service, args).output().unwrap();
    CommandOutput {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs an admin command that must succeed; returns its JSON.
pub fn admin_json(service: &Service, args: &[&str]) -> Value {
    let output = run_admin(service, &[args, &["--json"]].concat());
    assert_eq!(
        (output.code, output.err.as_str()),
        (0, ""),
        "{args:?}: {}",
        output.out
    );
    serde_json::from_str(&output.out).unwrap()
}
