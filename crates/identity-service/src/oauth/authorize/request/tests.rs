#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Returns a client of `https://app.example.com/cb` that may request `openid profile email`.
fn confidential() -> OAuthClient {
    OAuthClient::sample()
}

fn public() -> OAuthClient {
    OAuthClient {
        secret_hash: None,
        ..OAuthClient::sample()
    }
}

fn parse(client: &OAuthClient, query: &str) -> Result<AuthorizationRequest, AuthorizationError> {
    let parameters = Parameters::parse(query);
    let mode = match parameters.value("response_mode") {
        Some(FORM_POST) => ResponseMode::FormPost,
        _ => ResponseMode::Query,
    };
    AuthorizationRequest::parse(client, &parameters, mode, true)
}

#[test]
fn each_broken_rule_gets_its_error_code() {
    let long = "n".repeat(513);
    for (query, code) in [
        ("", "invalid_request"),
        ("response_type=", "invalid_request"),
        ("response_type=token", "unsupported_response_type"),
        ("response_type=code+id_token", "unsupported_response_type"),
        ("response_type=CODE", "unsupported_response_type"),
        ("response_type=code&response_type=code", "invalid_request"),
        (
            "response_type=code&response_mode=fragment",
            "invalid_request",
        ),
        ("response_type=id_token", "unauthorized_client"),
        ("response_type=none", "unsupported_response_type"),
        ("response_type=code&scope=root", "invalid_scope"),
        ("response_type=code&scope=OpenID", "invalid_scope"),
        ("response_type=code&scope=teams%3Awrite", "invalid_scope"),
        ("response_type=code&scope=openid,email", "invalid_scope"),
        (
            "response_type=code&scope=openid&scope=email",
            "invalid_request",
        ),
        ("response_type=code&state=a&state=b", "invalid_request"),
        (
            "response_type=code&state=%0d%0aSet-Cookie:a",
            "invalid_request",
        ),
        ("response_type=code&state=%ff", "invalid_request"),
        ("response_type=code&nonce=%00", "invalid_request"),
        (
            &format!("response_type=code&nonce={long}"),
            "invalid_request",
        ),
        ("response_type=code&code_challenge=short", "invalid_request"),
        (
            "response_type=code&code_challenge_method=S256",
            "invalid_request",
        ),
        (
            &format!("response_type=code&code_challenge={CHALLENGE}&code_challenge_method=S512"),
            "invalid_request",
        ),
        ("response_type=code&prompt=register", "invalid_request"),
        ("response_type=code&prompt=none+login", "invalid_request"),
        ("response_type=code&prompt=none+create", "invalid_request"),
        (
            "response_type=code&prompt=select_account+none",
            "invalid_request",
        ),
        ("response_type=code&max_age=-1", "invalid_request"),
        ("response_type=code&max_age=1.5", "invalid_request"),
        ("response_type=code&max_age=99999999999", "invalid_request"),
        (
            "response_type=code&request=eyJhbGciOiJub25lIn0.e30.",
            "request_not_supported",
        ),
        (
            "response_type=code&request_uri=https://a.example/r",
            "request_uri_not_supported",
        ),
        (
            "response_type=code&registration=%7B%7D",
            "registration_not_supported",
        ),
    ] {
        let refusal = parse(&confidential(), query).unwrap_err();
        assert_eq!(refusal.code, code, "{query}");
        assert!(!refusal.description.is_empty());
    }
}

#[test]
fn an_unreadable_parameter_is_named() {
    for name in ["response_type", "scope", "state", "nonce", "code_challenge"] {
        for (query, why) in [
            (format!("{name}=a&{name}=b"), "is given twice"),
            (format!("{name}=%00"), "has characters that none can have"),
        ] {
            let refusal = parse(&confidential(), &query).unwrap_err();
            assert_eq!(refusal.description, format!("the parameter {name} {why}"));
        }
    }
}

#[test]
fn a_public_client_must_send_a_challenge() {
    let query = "response_type=code&scope=openid";
    assert_eq!(parse(&public(), query).unwrap_err().code, "invalid_request");
    assert!(parse(&confidential(), query).unwrap().challenge.is_none());
    let query = format!("{query}&code_challenge={CHALLENGE}&code_challenge_method=S256");
    assert!(parse(&public(), &query).unwrap().challenge.is_some());
}

#[test]
fn an_id_token_alone_is_for_registered_clients_and_travels_in_a_form_only() {
    let mut client = public();
    client.metadata.response_types = vec![ResponseType::IdToken];
    let form = "response_type=id_token&response_mode=form_post&nonce=n";
    // There is no code that a challenge would protect.
    assert!(parse(&client, form).unwrap().challenge.is_none());
    for (query, code) in [
        ("response_type=code", "unauthorized_client"),
        ("response_type=id_token&nonce=n", "invalid_request"),
        (
            "response_type=id_token&response_mode=query&nonce=n",
            "invalid_request",
        ),
        (
            "response_type=id_token&response_mode=fragment&nonce=n",
            "invalid_request",
        ),
        (
            "response_type=id_token&response_mode=form_post",
            "invalid_request",
        ),
        (&format!("{form}&scope=email"), "invalid_scope"),
        (
            "response_type=id_token+token&response_mode=form_post&nonce=n",
            "unsupported_response_type",
        ),
    ] {
        assert_eq!(parse(&client, query).unwrap_err().code, code, "{query}");
    }
    // A form cannot be posted to an app.
    let parameters = Parameters::parse(form);
    let refusal = AuthorizationRequest::parse(&client, &parameters, ResponseMode::Query, true);
    assert_eq!(refusal.unwrap_err().code, "invalid_request");
}

#[test]
fn plain_challenges_can_be_disabled() {
    let query = format!("response_type=code&code_challenge={CHALLENGE}");
    let parameters = Parameters::parse(&query);
    let parse = |allow_plain| {
        AuthorizationRequest::parse(&public(), &parameters, ResponseMode::Query, allow_plain)
    };
    let refusal = parse(false).unwrap_err();
    assert_eq!(refusal.description, "code_challenge_method must be S256");
    assert!(parse(true).is_ok());
}

#[test]
fn a_request_without_scope_gets_the_scopes_of_its_client() {
    let scope = |query| parse(&confidential(), query).unwrap().scope.to_string();
    assert_eq!(scope("response_type=code"), "openid profile email");
    assert_eq!(scope("response_type=code&scope="), "openid profile email");
    assert_eq!(
        scope("response_type=code&scope=email+openid"),
        "openid email"
    );
}

#[test]
fn no_redirect_goes_to_an_unregistered_address() {
    let client = confidential();
    let id = client.id.clone();
    for bad in [
        "",
        "redirect_uri=",
        "redirect_uri=https://app.example.com/cb/",
        "redirect_uri=https://app.example.com/cb?x=1",
        "redirect_uri=https://app.example.com/cb%23f",
        "redirect_uri=https://app.example.com:444/cb",
        "redirect_uri=http://app.example.com/cb",
        "redirect_uri=https://APP.example.com/cb",
        "redirect_uri=https://app.example.com.evil.example/cb",
        "redirect_uri=https://app.example.com@evil.example/cb",
        "redirect_uri=https://app.example.com%5c@evil.example/cb",
        "redirect_uri=https://app.example.com/../cb",
        "redirect_uri=https://app.example.com/%2563b",
        "redirect_uri=%20https://app.example.com/cb",
        "redirect_uri=https://app.example.com/cb%00",
        "redirect_uri=https://app.example.com/cb&redirect_uri=https://app.example.com/cb",
        "redirect_uri=//app.example.com/cb",
        "redirect_uri=javascript:alert(1)",
    ] {
        let parameters = Parameters::parse(format!("client_id={id}&{bad}"));
        assert!(find_redirect(&client, &parameters).is_err(), "{bad}");
    }
    let good = Parameters::parse("redirect_uri=https://app.example.com/cb&state=a&state=b");
    let (given, redirect) = find_redirect(&client, &good).unwrap();
    assert_eq!(given, "https://app.example.com/cb");
    assert_eq!(redirect.state, None, "a state that is given twice is none");
}

#[test]
fn a_request_without_one_client_id_or_with_too_long_a_query_is_refused() {
    let long = format!("client_id=a&state={}", "s".repeat(MAX_QUERY_BYTES));
    assert!(client_id(&Parameters::parse(&long)).is_err());
    assert!(client_id(&Parameters::parse("")).is_err());
    assert!(client_id(&Parameters::parse("client_id=a&client_id=a")).is_err());
    assert_eq!(client_id(&Parameters::parse("client_id=a")), Ok("a"));
}

proptest! {
    /// Any request is refused or keeps the rules that tokens depend on.
    #[test]
    fn no_accepted_request_exceeds_the_scopes_of_its_client(
        words in proptest::collection::vec("[a-z:_ +]{0,16}", 0..4),
        known in proptest::collection::vec(proptest::sample::select(vec![
            "response_type=code", "scope=openid", "scope=email+openid", "scope=teams", "state=x", "prompt=none",
            "prompt=login", "prompt=select_account", "max_age=5", "nonce=n", "code_challenge_method=S256", "code_challenge_method=plain",
            "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        ]), 0..8),
        is_public: bool,
    ) {
        let client = if is_public { public() } else { confidential() };
        let query: Vec<_> = known.iter().map(|part| (*part).to_owned())
            .chain(words.iter().map(|word| format!("scope={word}"))).collect();
        if let Ok(request) = parse(&client, &query.join("&")) {
            prop_assert!(client.allowed_scope().includes(request.scope));
            prop_assert!(!is_public || request.challenge.is_some());
            prop_assert!(!request.prompt.none || !request.prompt.login);
        }
    }
}
