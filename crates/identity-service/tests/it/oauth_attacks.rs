//! Attacks on the provider, each with the rule that it would break.

use reqwest::Method;
use serde_json::json;
use url::form_urlencoded::Serializer;

use crate::oauth_fixture::{CALLBACK, CHALLENGE, OAuth, SECRET, VERIFIER, answer};
use crate::support::refused;

/// Redirect URIs that must not match: they are compared exactly (RFC 9700 section 2.1, RFC 6749 section 3.1.2.3).
/// A request with one that does not match gets no redirect (RFC 6749 section 4.1.2.1).
const ADDRESSES: [(&str, &str); 38] = [
    ("another site", "https://evil.example/cb"),
    ("a longer host", "https://app.example.com.evil.example/cb"),
    ("a longer label", "https://xapp.example.com/cb"),
    ("a host above", "https://example.com/cb"),
    ("a host below", "https://x.app.example.com/cb"),
    ("a final dot", "https://app.example.com./cb"),
    ("upper case host", "https://APP.example.com/cb"),
    ("upper case scheme", "HTTPS://app.example.com/cb"),
    (
        "the host as user",
        "https://app.example.com@evil.example/cb",
    ),
    (
        "the host as user and password",
        "https://app.example.com:x@evil.example/cb",
    ),
    ("a user before the host", "https://evil@app.example.com/cb"),
    (
        "a backslash as slash",
        "https://evil.example\\@app.example.com/cb",
    ),
    ("a backslash in the path", "https://app.example.com\\cb"),
    ("another scheme", "http://app.example.com/cb"),
    ("no scheme", "//app.example.com/cb"),
    ("script", "javascript:alert(1)//app.example.com/cb"),
    ("data", "data:text/html,https://app.example.com/cb"),
    ("a custom scheme", "app:/cb"),
    (
        "the default port written out",
        "https://app.example.com:443/cb",
    ),
    ("another port", "https://app.example.com:8443/cb"),
    ("another path", "https://app.example.com/cb2"),
    ("a path below", "https://app.example.com/cb/x"),
    ("a final slash", "https://app.example.com/cb/"),
    ("a path with dots", "https://app.example.com/x/../cb"),
    ("an encoded path", "https://app.example.com/%63b"),
    ("upper case path", "https://app.example.com/CB"),
    (
        "a query",
        "https://app.example.com/cb?next=https://evil.example",
    ),
    ("an empty query", "https://app.example.com/cb?"),
    ("a fragment", "https://app.example.com/cb#x"),
    ("an empty fragment", "https://app.example.com/cb#"),
    ("a space before", " https://app.example.com/cb"),
    ("a line end after", "https://app.example.com/cb\r\nX: y"),
    ("a tab inside", "https://app.exam\tple.com/cb"),
    ("a NUL", "https://app.example.com/cb\0"),
    ("letters of another script", "https://аpp.example.com/cb"),
    ("a full-width letter", "https://ａpp.example.com/cb"),
    ("another loopback path", "http://127.0.0.1:5000/other"),
    (
        "a host that only begins like loopback",
        "http://127.0.0.1.evil.example/cb",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_goes_to_an_address_that_does_not_match_exactly() {
    let oauth = OAuth::start().await;
    let mut browser = oauth.browser().await;
    for (attack, address) in ADDRESSES {
        let path = OAuth::request("web", &[("redirect_uri", Some(address))]);
        let reply = oauth.authorize(&path, &oauth.ada.access).await;
        assert_eq!(reply.status, 400, "{attack}: {}", reply.text());
        assert_eq!(reply.header("location"), "", "{attack}");
        // A browser gets an error page that leads nowhere.
        let page = browser.get(&path).await.expect(400);
        assert_eq!(page.leads_to, None, "{attack}");
    }
    // RFC 8252 section 7.3: a registered loopback address matches with any port.
    let any_port = [("redirect_uri", Some("http://127.0.0.1:5000/cb"))];
    let path = OAuth::request("native", &any_port);
    oauth.authorize(&path, &oauth.ada.access).await.expect(302);
    assert_eq!(oauth.audited("oauth.granted"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_or_ambiguous_client_or_redirect_uri_gets_no_redirect() {
    let oauth = OAuth::start().await;
    let good = OAuth::request("web", &[]);
    let addition = |pair: &str| format!("{good}&{pair}");
    let evil = Serializer::new(String::new())
        .append_pair("redirect_uri", "https://evil.example/cb")
        .finish();
    for (attack, path) in [
        ("an unknown client", OAuth::request("nobody", &[])),
        ("no client", OAuth::request("", &[("client_id", None)])),
        ("an empty client", OAuth::request("", &[])),
        ("another's case", OAuth::request("WEB", &[])),
        ("SQL", OAuth::request("web' OR '1'='1", &[])),
        ("a NUL", OAuth::request("web\0", &[])),
        ("a long id", OAuth::request(&"x".repeat(3_000), &[])),
        ("two clients", addition("client_id=native")),
        ("the same client twice", addition("client_id=web")),
        ("two addresses", addition(&evil)),
        (
            "no address",
            OAuth::request("web", &[("redirect_uri", None)]),
        ),
        (
            "an empty address",
            OAuth::request("web", &[("redirect_uri", Some(""))]),
        ),
    ] {
        let reply = oauth.authorize(&path, &oauth.ada.access).await;
        assert_eq!(reply.status, 400, "{attack}: {}", reply.text());
        assert_eq!(reply.header("location"), "", "{attack}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_error_goes_back_with_state_and_iss_and_without_a_code() {
    let oauth = OAuth::start().await;
    let (long, illegal) = ("a".repeat(129), format!("{}=", &CHALLENGE[..42]));
    for (rule, client, changes, error) in [
        (
            "RFC 6749 3.1.1: implicit",
            "web",
            vec![("response_type", Some("token"))],
            "unsupported_response_type",
        ),
        (
            "RFC 9700 2.1.2: no tokens in addresses",
            "web",
            vec![("response_type", Some("code token"))],
            "unsupported_response_type",
        ),
        (
            "RFC 9700 2.1.2: no id tokens either",
            "web",
            vec![("response_type", Some("id_token"))],
            "unauthorized_client",
        ),
        (
            "RFC 6749 4.1.2.1: required",
            "web",
            vec![("response_type", None)],
            "invalid_request",
        ),
        (
            "RFC 9700 2.1.1: public clients use PKCE",
            "native",
            vec![("code_challenge", None), ("code_challenge_method", None)],
            "invalid_request",
        ),
        (
            "RFC 7636 4.3: known methods",
            "native",
            vec![("code_challenge_method", Some("S512"))],
            "invalid_request",
        ),
        (
            "RFC 7636 4.3: in their case",
            "native",
            vec![("code_challenge_method", Some("s256"))],
            "invalid_request",
        ),
        (
            "RFC 7636 4.2: length",
            "native",
            vec![("code_challenge", Some(&CHALLENGE[..42]))],
            "invalid_request",
        ),
        (
            "RFC 7636 4.2: length",
            "native",
            vec![("code_challenge", Some(long.as_str()))],
            "invalid_request",
        ),
        (
            "RFC 7636 4.2: alphabet",
            "native",
            vec![("code_challenge", Some(illegal.as_str()))],
            "invalid_request",
        ),
        (
            "a method for no challenge",
            "web",
            vec![("code_challenge", None)],
            "invalid_request",
        ),
        (
            "RFC 6749 3.3: unknown",
            "web",
            vec![("scope", Some("admin"))],
            "invalid_scope",
        ),
        (
            "RFC 6749 3.3: beyond what is registered",
            "web",
            vec![("scope", Some("sessions:write"))],
            "invalid_scope",
        ),
        (
            "RFC 6749 3.3: case",
            "web",
            vec![("scope", Some("OpenID"))],
            "invalid_scope",
        ),
        (
            "OIDC 3.1.2.1: none stands alone",
            "web",
            vec![("prompt", Some("none login"))],
            "invalid_request",
        ),
    ] {
        let path = OAuth::request(client, &changes);
        let reply = oauth.authorize(&path, &oauth.ada.access).await.expect(302);
        let address = reply.header("location");
        assert!(
            address.starts_with(&format!("{CALLBACK}?")),
            "{rule}: {address}"
        );
        let back = answer(address);
        assert_eq!(back["error"], error, "{rule}: {address}");
        assert_eq!(back["state"], "s +&/ü", "{rule}");
        // RFC 9207 section 2: errors name the issuer, too.
        assert_eq!(back["iss"], oauth.identity.running.base_url(), "{rule}");
        assert!(!back.contains_key("code"), "{rule}");
    }
    assert_eq!(
        oauth
            .identity
            .count("SELECT count(*) AS n FROM oauth_codes"),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_endpoint_refuses_misused_codes_tokens_grants_and_secrets() {
    let oauth = OAuth::start().await;
    oauth.add_client("other", Some(SECRET), false);
    let given = oauth.tokens("web", "openid").await;
    let (access, refresh) = (
        given["access_token"].as_str().unwrap(),
        given["refresh_token"].as_str().unwrap(),
    );
    let id_token = given["id_token"].as_str().unwrap();
    let code = oauth.code("web", &[]).await;
    let web = ("web", Some(SECRET));
    let exchange = |code: &str, verifier: &str| {
        [
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", CALLBACK.to_owned()),
            ("code_verifier", verifier.to_owned()),
        ]
    };
    let renew = |token: &str| {
        [
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", token.to_owned()),
        ]
    };
    let grant = |name: &str| [("grant_type", name.to_owned())];
    let plain = CHALLENGE;
    for (rule, client, form, error) in [
        (
            "a code of another client",
            ("other", Some(SECRET)),
            exchange(&code, VERIFIER).to_vec(),
            "invalid_grant",
        ),
        (
            "a code of a confidential client without its secret",
            ("native", None),
            exchange(&code, VERIFIER).to_vec(),
            "invalid_grant",
        ),
        (
            "the challenge as verifier: S256 is not plain",
            web,
            exchange(&code, plain).to_vec(),
            "invalid_grant",
        ),
        (
            "a code cut short",
            web,
            exchange(&code[..20], VERIFIER).to_vec(),
            "invalid_grant",
        ),
        (
            "an access token as code",
            web,
            exchange(access, VERIFIER).to_vec(),
            "invalid_grant",
        ),
        (
            "a refresh token as code",
            web,
            exchange(refresh, VERIFIER).to_vec(),
            "invalid_grant",
        ),
        (
            "an access token as refresh token",
            web,
            renew(access).to_vec(),
            "invalid_grant",
        ),
        (
            "an id token as refresh token",
            web,
            renew(id_token).to_vec(),
            "invalid_grant",
        ),
        (
            "a code as refresh token",
            web,
            renew(&code).to_vec(),
            "invalid_grant",
        ),
        (
            "another client's refresh token",
            ("other", Some(SECRET)),
            renew(refresh).to_vec(),
            "invalid_grant",
        ),
        (
            "a public client with it",
            ("native", None),
            renew(refresh).to_vec(),
            "invalid_grant",
        ),
        (
            "the account's own refresh token",
            web,
            renew(&oauth.ada.refresh).to_vec(),
            "invalid_grant",
        ),
        (
            "RFC 9700 2.4: no passwords",
            web,
            grant("password").to_vec(),
            "unsupported_grant_type",
        ),
        (
            "no client credentials",
            web,
            grant("client_credentials").to_vec(),
            "unsupported_grant_type",
        ),
        (
            "an unknown grant",
            web,
            grant("magic").to_vec(),
            "unsupported_grant_type",
        ),
        ("no grant", web, vec![], "invalid_request"),
        (
            "RFC 6749 3.2: doubled parameters",
            web,
            [exchange(&code, VERIFIER), exchange(&code, VERIFIER)].concat(),
            "invalid_request",
        ),
        (
            "a wrong secret",
            ("web", Some("wrong")),
            exchange(&code, VERIFIER).to_vec(),
            "invalid_client",
        ),
        (
            "no secret",
            ("web", None),
            exchange(&code, VERIFIER).to_vec(),
            "invalid_client",
        ),
        (
            "an unknown client",
            ("nobody", Some(SECRET)),
            exchange(&code, VERIFIER).to_vec(),
            "invalid_client",
        ),
        (
            "a secret for a client without one",
            ("native", Some(SECRET)),
            exchange(&code, VERIFIER).to_vec(),
            "invalid_client",
        ),
    ] {
        let form: Vec<(&str, &str)> = form
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let reply = oauth.token(client, &form).await;
        let status = if error == "invalid_client" { 401 } else { 400 };
        assert_eq!(
            (reply.status, reply.json()["error"].as_str()),
            (status, Some(error)),
            "{rule}: {}",
            reply.text()
        );
        assert_eq!(reply.header("cache-control"), "no-store", "{rule}");
    }
    // RFC 6749 section 3.2: only by POST, with the parameters in the body.
    let query = Serializer::new(String::new())
        .extend_pairs(exchange(&code, VERIFIER))
        .finish();
    let path = format!("/api/oauth/token?{query}");
    oauth
        .identity
        .api
        .call(Method::GET, &path)
        .send()
        .await
        .expect(405);
    let reply = oauth.post(&path, web, &[]).await.expect(400);
    assert_eq!(reply.json()["error"], "invalid_request");
    // The code and the refresh token still work for their client.
    oauth.redeem("web", &code).await.expect(200);
    oauth.refresh("web", refresh, None).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_tokens_are_refused_for_any_other_purpose() {
    let oauth = OAuth::start().await;
    let given = oauth.tokens("web", "openid profile email teams").await;
    let text = |name: &str| given[name].as_str().unwrap();
    let api = &oauth.identity.api;
    for (rule, bearer) in [
        (
            "an id token is no access token (RFC 9068 section 2.1)",
            text("id_token"),
        ),
        ("a refresh token is no access token", text("refresh_token")),
    ] {
        let reply = api.get("/api/auth/me").bearer(bearer).send().await;
        assert_eq!(
            (reply.status, reply.json()["error"].as_str()),
            (401, Some("invalid_token")),
            "{rule}"
        );
    }
    refused(
        oauth.identity.refresh(text("refresh_token")).await,
        401,
        "invalid_refresh_token",
    );
    let access = text("access_token");
    // The SSO callback accepts no token that a client was given.
    let (id, own) = (
        oauth.ada.id.to_string(),
        oauth.tokens("own", "openid").await,
    );
    for token in [access, own["access_token"].as_str().unwrap()] {
        let query = Serializer::new(String::new())
            .extend_pairs([("token", token), ("user_id", &id), ("username", "ada")])
            .finish();
        let reply = api
            .get(&format!("/api/auth/sso/callback?{query}"))
            .send()
            .await;
        refused(reply, 401, "invalid_token");
    }
    let again = OAuth::request("web", &[]);
    let user = format!("/api/auth/user/{}", oauth.ada.id);
    for (method, path) in [
        (Method::GET, again.as_str()),
        (Method::GET, "/api/auth/export"),
        (Method::GET, "/api/auth/sessions"),
        (Method::GET, "/api/auth/applications"),
        (Method::GET, "/api/auth/totp"),
        (Method::GET, "/api/admin/users"),
        (Method::POST, "/api/auth/sso/token"),
        (Method::POST, "/api/auth/password/change"),
        (Method::POST, "/api/teams"),
        (Method::PUT, &user),
        (Method::DELETE, &user),
    ] {
        let call = api
            .call(method.clone(), path)
            .bearer(access)
            .json(json!({}));
        let reply = call.send().await;
        assert_eq!(reply.status, 403, "{method} {path}: {}", reply.text());
        assert!(
            reply.text().contains("insufficient_scope"),
            "{method} {path}: {}",
            reply.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_token_for_an_administrator_sees_no_more_than_anybody_elses() {
    let oauth = OAuth::start().await;
    let bob = oauth.identity.register("bob").await;
    oauth
        .identity
        .sql("UPDATE users SET role = 'SUPERADMIN' WHERE username = 'ada'");
    let path = format!("/api/auth/user/{}", bob.id);
    let seen = async |token: &str| {
        let reply = oauth.identity.api.get(&path).bearer(token).send().await;
        reply.expect(200).json()["user"]["email"].clone()
    };
    assert!(seen(&oauth.ada.access).await.is_string());
    for client in ["web", "own"] {
        let tokens = oauth.tokens(client, "openid email").await;
        assert!(
            seen(tokens["access_token"].as_str().unwrap())
                .await
                .is_null()
        );
    }
}
