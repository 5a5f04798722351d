use std::process::{Command, Output};

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_identity-service"))
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn a_bad_configuration_stops_the_start_with_one_line_that_names_the_key() {
    for (key, value) in [
        ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
        ("IDENTITY__PASSWORD__BCRYPT_COST", "many"),
        ("IDENTITY__NONSENSE", "1"),
        ("IDENTITY__DATABASE__URL", "mysql://hunter2"),
        ("IDENTITY__BROKER__URL", "http://h"),
        ("IDENTITY__BASE_URL", "nonsense"),
    ] {
        for command in ["check-config", "serve"] {
            let output = run(&[command], &[(key, value)]);
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success(), "{key}");
            assert_eq!(text.trim_end().lines().count(), 1, "{text}");
            let name = key.rsplit("__").next().unwrap().to_lowercase();
            assert!(text.to_lowercase().contains(&name), "{key}: {text}");
            assert!(!text.contains("hunter2"), "{text}");
            assert!(output.stdout.is_empty());
        }
    }
    assert!(
        run(&["check-config"], &[("WORKSESSION__NONSENSE", "1")])
            .status
            .success()
    );
}

#[test]
fn a_public_base_url_with_development_values_stops_the_start_with_one_line_that_names_them() {
    let all = [
        ("IDENTITY__BASE_URL", "https://id.example.com"),
        ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
        ("IDENTITY__SSO__ALLOWED_ORIGINS", "http://localhost:*"),
        ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
    ];
    for command in ["check-config", "serve"] {
        let output = run(&[command], &all);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
        assert!(all[1..].iter().all(|(key, _)| text.contains(key)), "{text}");
    }
    for address in ["https://id.example.com", "http://localhost"] {
        let fine = run(&["check-config"], &[("IDENTITY__BASE_URL", address)]);
        assert!(fine.status.success(), "{address}");
        let printed = String::from_utf8(fine.stdout).unwrap();
        assert!(printed.starts_with("time zone rules: 2"), "{printed}");
    }
    let plain = [("IDENTITY__BASE_URL", "http://id.example.com")];
    assert!(!run(&["check-config"], &plain).status.success());
    let allowed = [plain[0], ("IDENTITY__ALLOW_INSECURE_COOKIES", "true")];
    assert!(run(&["check-config"], &allowed).status.success());
}

#[test]
fn openapi_and_migrate_run_without_a_server() {
    let output = run(&["openapi"], &[]);
    assert!(output.status.success());
    assert!(
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["openapi"].is_string()
    );
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    assert!(run(&["migrate", "--data-dir", data], &[]).status.success());
    assert!(folder.path().join("identity.db").exists());
    assert!(
        !run(&["healthcheck"], &[("IDENTITY__LISTEN", "127.0.0.1:1")])
            .status
            .success()
    );
}

#[test]
fn checking_the_configuration_reports_zeros_and_a_file_as_the_data_directory() {
    let zeros = [
        "IDENTITY__WORKERS",
        "IDENTITY__HOUSEKEEPING_SECONDS",
        "IDENTITY__DATABASE__POOL_SIZE",
        "IDENTITY__TOKENS__ACCESS_TTL_SECONDS",
        "IDENTITY__LIMITS__JSON_BYTES",
        "IDENTITY__LIMITS__HEADER_BYTES",
        "IDENTITY__LIMITS__BODY_SECONDS",
        "IDENTITY__LIMITS__LARGE_BODIES_MIB",
        "IDENTITY__LIMITS__CONNECTIONS",
        "IDENTITY__LIMITS__PHOTO_BYTES",
        "IDENTITY__LIMITS__PROFILE_JSON_BYTES",
    ];
    test_kit::assert_check_config_reports(env!("CARGO_BIN_EXE_identity-service"), &[], &zeros);
}

#[test]
fn checking_the_configuration_writes_nothing() {
    test_kit::assert_check_config_writes_nothing(env!("CARGO_BIN_EXE_identity-service"), &[]);
}
