//! The command `check-config`.

use std::process::Command;

#[test]
fn checking_the_configuration_reports_zeros_and_a_file_as_the_data_directory() {
    test_kit::assert_check_config_reports(
        env!("CARGO_BIN_EXE_worksession-service"),
        &[
            ("WORKSESSION__BROKER__URL", "amqp://127.0.0.1"),
            ("WORKSESSION__IDENTITY_URL", "http://127.0.0.1:1"),
        ],
        &[
            "WORKSESSION__WORKERS",
            "WORKSESSION__SWEEP_SECONDS",
            "WORKSESSION__DATABASE__POOL_SIZE",
            "WORKSESSION__LIMITS__JSON_BYTES",
            "WORKSESSION__LIMITS__HEADER_BYTES",
            "WORKSESSION__LIMITS__BODY_SECONDS",
            "WORKSESSION__LIMITS__LARGE_BODIES_MIB",
            "WORKSESSION__LIMITS__CONNECTIONS",
            "WORKSESSION__LIVE__STREAMS",
            "WORKSESSION__LIVE__STREAMS_PER_USER",
        ],
    );
}

#[test]
fn checking_the_configuration_prints_the_version_of_the_time_zone_rules() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_worksession-service"));
    command.env("WORKSESSION__BROKER__URL", "amqp://127.0.0.1");
    command.env("WORKSESSION__IDENTITY_URL", "http://127.0.0.1:1");
    let output = command.arg("check-config").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("time zone rules: 2"), "{printed}");
}

#[test]
fn checking_the_configuration_writes_nothing() {
    test_kit::assert_check_config_writes_nothing(
        env!("CARGO_BIN_EXE_worksession-service"),
        &[
            ("WORKSESSION__BROKER__URL", "amqp://127.0.0.1"),
            ("WORKSESSION__IDENTITY_URL", "http://127.0.0.1:1"),
        ],
    );
}
