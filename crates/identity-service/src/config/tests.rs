#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let variables = variables
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let config: Config = service_kit::config::load_from("IDENTITY", None, variables)?;
    config.check().map(|()| config)
}

#[test]
fn every_key_of_the_launch_contract_is_known() {
    let key = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
    let config = read(&[
        ("IDENTITY__LISTEN", "0.0.0.0:0"),
        ("IDENTITY__BASE_URL", "https://id.example.com/"),
        ("IDENTITY__DATA_DIR", "/var/lib/holdfast"),
        ("IDENTITY__DATABASE__URL", "postgres://u@h/d"),
        ("IDENTITY__DATABASE__POOL_SIZE", "4"),
        ("IDENTITY__DATABASE__MIGRATE", "false"),
        ("IDENTITY__BROKER__URL", "amqp://h"),
        ("IDENTITY__BROKER__PREFIX", "t."),
        ("IDENTITY__KEYS__ENCRYPTION_KEY", key),
        ("IDENTITY__SECRETS__ENCRYPTION_KEY", key),
        ("IDENTITY__TOKENS__ACCESS_TTL_SECONDS", "60"),
        ("IDENTITY__PASSWORD__BCRYPT_COST", "10"),
        ("IDENTITY__PASSWORD__MIN_STRENGTH", "3"),
        (
            "IDENTITY__SSO__ALLOWED_ORIGINS",
            "https://a.example.com,https://b.example.com",
        ),
        ("IDENTITY__OAUTH__ALLOW_PLAIN_PKCE", "false"),
        ("IDENTITY__TEAMS__MAX_OWNED", "10"),
        ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
        ("IDENTITY__TRUSTED_PROXIES", "10.0.0.0/8"),
        ("IDENTITY__HTTP__ALLOWED_CIDRS", "127.0.0.0/8"),
        ("IDENTITY__HTTP__ALLOW_PLAIN", "true"),
        ("IDENTITY__LIMITS__PHOTO_BYTES", "1000000"),
        ("IDENTITY__LIMITS__PROFILE_JSON_BYTES", "2000000"),
        ("IDENTITY__ALLOW_INSECURE_COOKIES", "true"),
    ])
    .unwrap();
    assert_eq!(config.public_url(config.listen), "https://id.example.com");
    assert_eq!(config.sso.allowed_origins.0.len(), 2);
    assert_eq!(config.rate_limits.enabled, Some(false));
    assert!(!format!("{config:?}").contains("QUFB"));
}

#[test]
fn an_invalid_value_is_refused_and_its_key_named() {
    let refusal = |key: &str, value: &str| read(&[(key, value)]).unwrap_err().to_string();
    assert!(refusal("IDENTITY__PASSWORD__BCRYPT_COST", "9").contains("ALLOW_WEAK_COST"));
    assert!(refusal("IDENTITY__PASSWORD__BCRYPT_COST", "16").contains("BCRYPT_COST"));
    assert!(refusal("IDENTITY__PASSWORD__MIN_STRENGTH", "5").contains("MIN_STRENGTH"));
    assert!(refusal("IDENTITY__TOKENS__ACCESS_TTL_SECONDS", "0").contains("ACCESS_TTL_SECONDS"));
    for off in [
        "IDENTITY__HSTS_SECONDS",
        "IDENTITY__KEYS__ROTATE_DAYS",
        "IDENTITY__DRAIN_SECONDS",
    ] {
        assert!(read(&[(off, "0")]).is_ok(), "{off}");
    }
    assert!(refusal("IDENTITY__BASE_URL", "ftp://h").contains("BASE_URL"));
    assert!(refusal("IDENTITY__TEAMS__MAX_OWNED", "0").contains("MAX_OWNED"));
    assert!(refusal("IDENTITY__TEAMS__MAX_JOINED", "1001").contains("MAX_JOINED"));
    let origins = refusal(
        "IDENTITY__SSO__ALLOWED_ORIGINS",
        "https://a.example.com,http://b.example.com",
    );
    assert!(
        origins.contains("IDENTITY__SSO__ALLOWED_ORIGINS")
            && origins.contains("http://b.example.com")
    );
    assert!(!origins.contains('\n'), "{origins}");
    assert!(
        read(&[
            ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
            ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true")
        ])
        .is_ok()
    );
}
