//! `notifier admin …` as a program beside the stage's notifier.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::kit::Stage;

/// Returns the program with the stage's configuration, not yet started.
pub(crate) fn command(stage: &Stage, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_notifier"));
    command
        .arg("admin")
        .args(args)
        .env_clear()
        .env("NOTIFIER__DATABASE__URL", stage.db.url())
        .env("NOTIFIER__BROKER__URL", stage.kit.url())
        .env("NOTIFIER__BROKER__PREFIX", stage.kit.prefix())
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(stage: &Stage, args: &[&str]) -> Output {
    command(stage, args).output().unwrap()
}

/// Returns the output of a command that must succeed.
pub(crate) fn text(stage: &Stage, args: &[&str]) -> String {
    let output = run(stage, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn json(stage: &Stage, args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.push("--json");
    serde_json::from_str(&text(stage, &args)).unwrap()
}

/// Returns the one error line of a command that must fail.
pub(crate) fn refusal(stage: &Stage, args: &[&str]) -> String {
    let output = run(stage, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn checking_the_configuration_reports_zeros_and_a_file_as_the_data_directory() {
    test_kit::assert_check_config_reports(
        env!("CARGO_BIN_EXE_notifier"),
        &[("NOTIFIER__BROKER__URL", "amqp://127.0.0.1")],
        &["NOTIFIER__DATABASE__POOL_SIZE"],
    );
}

#[test]
fn checking_the_configuration_writes_nothing() {
    test_kit::assert_check_config_writes_nothing(
        env!("CARGO_BIN_EXE_notifier"),
        &[("NOTIFIER__BROKER__URL", "amqp://127.0.0.1")],
    );
}
