use std::time::Duration;

use identity_service::{Config, OAuthClientConfig, start};
use reqwest::Method;
use serde_json::{Value, json};
use service_kit::config::CommaList;
use test_kit::wait_until;

use crate::admin_cli::run;
use crate::provider_fixture::{Provider, Registered};
use crate::support::{PASSWORD, config, deps, refused, signed_in};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_registered_shown_gets_a_new_secret_and_is_deleted() {
    let provider = Provider::start().await;
    let made = provider
        .try_register(json!({
            "name": "  My App ",
            "redirect_uris": ["https://app.example.com/cb", "https://app.example.com/cb"],
            "scope": "openid teams",
            "id_token_signed_response_alg": "RS256",
            "is_configured": true,
            "client_uri": "https://app.example.com/",
            "post_logout_redirect_uris": ["https://app.example.com/bye"],
        }))
        .await
        .expect(201)
        .json();
    let client = Registered {
        id: made["client_id"].as_str().unwrap().to_owned(),
        secret: made["client_secret"].as_str().unwrap().to_owned(),
    };
    assert_eq!(client.secret.len(), 43);
    assert_eq!(
        made["client"],
        json!({
            "client_id": client.id,
            "name": "My App",
            "is_public": false,
            "redirect_uris": ["https://app.example.com/cb"],
            "scope": "openid teams",
            "is_first_party": false,
            "may_introspect_any": false,
            "id_token_signed_response_alg": "RS256",
            "grant_types": ["authorization_code", "refresh_token"],
            "is_configured": false,
            "created_at": "2026-11-21T12:00:00Z",
            "updated_at": "2026-11-21T12:00:00Z",
            "requires_pkce_s256": false,
            "pkce_seen": null,
            "client_uri": "https://app.example.com/",
            "logo_uri": null,
            "policy_uri": null,
            "tos_uri": null,
            "post_logout_redirect_uris": ["https://app.example.com/bye"],
            "backchannel_logout_uri": null,
            "response_types": ["code"],
            "groups_claim": null,
        })
    );
    let path = format!("/{}", client.id);
    let shown = provider.administer(Method::GET, &path).await.expect(200);
    assert_eq!(shown.json(), json!({ "client": made["client"] }));
    let list = provider.administer(Method::GET, "").await.expect(200);
    assert_eq!(list.json(), json!({ "clients": [made["client"]] }));
    assert_eq!(
        provider.introspect(&client, "x").await,
        json!({ "active": false })
    );

    let rotate = format!("{path}/rotate-secret");
    let rotated = provider.administer(Method::POST, &rotate).await.expect(200);
    let rotated = rotated.json();
    assert_eq!(rotated["client_id"], json!(client.id));
    let fresh = Registered {
        secret: rotated["client_secret"].as_str().unwrap().to_owned(),
        ..client.clone()
    };
    assert_ne!(fresh.secret, client.secret);
    let call = provider.ask(&client, "/api/oauth/introspect", &[("token", "x")]);
    refused(call.send().await, 401, "invalid_client");
    provider.introspect(&fresh, "x").await;

    provider.administer(Method::DELETE, &path).await.expect(204);
    let call = provider.ask(&fresh, "/api/oauth/introspect", &[("token", "x")]);
    refused(call.send().await, 401, "invalid_client");
    for (method, path) in [
        (Method::GET, &path),
        (Method::DELETE, &path),
        (Method::POST, &rotate),
    ] {
        refused(provider.administer(method, path).await, 404, "not_found");
    }
    let told = |action: &str| {
        provider.identity.count(&format!(
            "SELECT count(*) AS n FROM audit_log WHERE action = '{action}' AND actor_id = {} AND details LIKE '%{}%'",
            provider.admin.id, client.id
        ))
    };
    for action in ["client.created", "client.secret_rotated", "client.deleted"] {
        assert_eq!(told(action), 1, "{action}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_first_party_clients_can_have_the_account_scope() {
    let provider = Provider::start().await;
    let all = "openid profile email groups teams teams:write sessions:read sessions:write integrations:write offline_access account";
    for (body, given) in [
        (json!({ "name": "App" }), Some("openid profile email")),
        (json!({ "name": "App", "scope": "openid account" }), None),
        (json!({ "name": "App", "is_first_party": true }), Some(all)),
        (
            json!({ "name": "App", "is_first_party": true, "scope": "account openid" }),
            Some("openid account"),
        ),
        (
            json!({ "name": "App", "is_first_party": true, "scope": "openid" }),
            Some("openid"),
        ),
    ] {
        let reply = provider.try_register(body.clone()).await;
        match given {
            Some(given) => assert_eq!(reply.expect(201).json()["client"]["scope"], given),
            None => drop(refused(reply, 400, "validation_failed")),
        }
        let db = &provider.identity.db;
        let mut args = vec!["clients", "create", "--name", "App", "--json"];
        if body["is_first_party"] == true {
            args.push("--first-party");
        }
        if let Some(scope) = body["scope"].as_str() {
            args.extend(["--scope", scope]);
        }
        let said = run(db, &args, "", &[]);
        match given {
            Some(given) => {
                let made: Value = serde_json::from_str(&said.good()).unwrap();
                assert_eq!(made["client"]["scope"], given);
            }
            None => assert!(said.refused(2).contains("account")),
        }
    }
    let call = provider
        .identity
        .api
        .get("/.well-known/openid-configuration");
    let supported = call.send().await.expect(200).json()["scopes_supported"].clone();
    assert_eq!(supported.as_array().unwrap().len(), 10);
    assert!(!supported.to_string().contains("account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_registered_for_the_grant_types_it_names() {
    const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
    let provider = Provider::start().await;
    for (asked, given) in [
        (json!([]), json!(["authorization_code", "refresh_token"])),
        (json!(["device_code"]), json!([DEVICE])),
        (
            json!([DEVICE, "refresh_token", DEVICE]),
            json!(["refresh_token", DEVICE]),
        ),
    ] {
        let body = json!({ "name": "App", "grant_types": asked });
        let made = provider.try_register(body).await.expect(201).json();
        assert_eq!(made["client"]["grant_types"], given);
    }
    for bad in [json!(["password"]), json!(["openid"]), json!("device_code")] {
        let body = json!({ "name": "App", "grant_types": bad });
        refused(provider.try_register(body).await, 400, "validation_failed");
    }
    let db = &provider.identity.db;
    let args = ["clients", "create", "--name", "Clock", "--public", "--json"];
    let args = [&args[..], &["--grant-type", "device_code", "refresh_token"]].concat();
    let made: Value = serde_json::from_str(&run(db, &args, "", &[]).good()).unwrap();
    assert_eq!(
        made["client"]["grant_types"],
        json!(["refresh_token", DEVICE])
    );
    let id = made["client_id"].as_str().unwrap();
    let shown = run(db, &["clients", "show", id], "", &[]).good();
    assert!(shown.contains(DEVICE), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_secret_is_stored_nowhere_in_clear() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let public = provider.public().await;
    assert_eq!(public.secret, "");
    for query in [
        format!(
            "SELECT count(*) AS n FROM oauth_clients WHERE secret_hash LIKE '%{}%'",
            client.secret
        ),
        format!(
            "SELECT count(*) AS n FROM audit_log WHERE details LIKE '%{}%'",
            client.secret
        ),
        format!(
            "SELECT count(*) AS n FROM oauth_clients WHERE id = '{}' AND secret_hash IS NOT NULL",
            public.id
        ),
    ] {
        assert_eq!(provider.identity.count(&query), 0, "{query}");
    }
    let rotate = format!("/{}/rotate-secret", public.id);
    let reply = provider.administer(Method::POST, &rotate).await;
    refused(reply, 400, "validation_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_superadmin_can_administer_clients() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let ada = provider.identity.register("ada").await;
    let one = format!("/api/admin/oauth-clients/{}", client.id);
    for (method, path) in [
        (Method::GET, "/api/admin/oauth-clients".to_owned()),
        (Method::POST, "/api/admin/oauth-clients".to_owned()),
        (Method::GET, one.clone()),
        (Method::PATCH, one.clone()),
        (Method::DELETE, one.clone()),
        (Method::POST, format!("{one}/rotate-secret")),
    ] {
        let call = || provider.identity.api.call(method.clone(), &path);
        refused(call().send().await, 401, "authentication_required");
        let reply = call().bearer(&ada.access).send().await;
        refused(reply, 403, "forbidden");
    }
    provider.introspect(&client, "x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_client_registrations_are_refused() {
    let provider = Provider::start().await;
    let many: Vec<String> = (0..21)
        .map(|n| format!("https://app.example.com/{n}"))
        .collect();
    for body in [
        json!({ "name": "" }),
        json!({ "name": "a\tb" }),
        json!({ "name": "x".repeat(101) }),
        json!({ "redirect_uris": [] }),
        json!({ "name": "App", "redirect_uris": many }),
        json!({ "name": "App", "redirect_uris": ["http://app.example.com/cb"] }),
        json!({ "name": "App", "redirect_uris": ["https://app.example.com/cb#x"] }),
        json!({ "name": "App", "redirect_uris": ["javascript:alert(1)"] }),
        json!({ "name": "App", "redirect_uris": ["https://*.example.com/cb"] }),
        json!({ "name": "App", "redirect_uris": ["https://app.example.com/%2A"] }),
        json!({ "name": "App", "scope": "openid everything" }),
        json!({ "name": "App", "scope": "OPENID" }),
        json!({ "name": "App", "id_token_signed_response_alg": "none" }),
        json!({ "name": "App", "id_token_signed_response_alg": "HS256" }),
        json!({ "name": "App", "is_public": true, "may_introspect_any": true }),
        json!({ "name": "App", "is_public": "yes" }),
        json!({ "name": "App", "logo_uri": "javascript:alert(1)" }),
        json!({ "name": "App", "response_types": ["token"] }),
        json!({ "name": "App", "response_types": [] }),
        json!({ "name": "App", "post_logout_redirect_uris": ["//app.example.com"] }),
        json!({ "name": "App", "backchannel_logout_uri": "http://10.0.0.1/" }),
    ] {
        let reply = provider.try_register(body).await;
        refused(reply, 400, "validation_failed");
    }
    let clients = provider
        .identity
        .count("SELECT count(*) AS n FROM oauth_clients");
    assert_eq!(clients, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_client_ends_all_its_sessions_at_once_and_no_others() {
    let provider = Provider::start().await;
    let (doomed, other) = (provider.confidential().await, provider.confidential().await);
    provider.identity.register("ada").await;
    let own = provider.identity.login("ada", PASSWORD).await.expect(200);
    let own = signed_in(&own.json());
    let given = provider.given("ada", &doomed, "openid").await;
    let kept = provider.given("ada", &other, "openid").await;
    // These are more sessions than one transaction ends.
    let rows: Vec<String> = (0..450)
        .map(|n| {
            format!(
                "('s{n}', {}, '2026-11-21 12:00:00', '2027-11-21 12:00:00', 'l{n}', 'h{n}', '2026-11-21 12:00:00', '2027-02-19 12:00:00', 'client', '{}', 'openid')",
                given.id, doomed.id
            )
        })
        .collect();
    provider.identity.sql(&format!(
        "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, refresh_expires_at, kind, client_id, scope) VALUES {}",
        rows.join(", ")
    ));
    for token in [&own.access, &given.access, &kept.access] {
        provider.identity.validate(token).await.expect(200);
    }
    let path = format!("/{}", doomed.id);
    provider.administer(Method::DELETE, &path).await.expect(204);
    refused(
        provider.identity.validate(&given.access).await,
        401,
        "token_revoked",
    );
    for token in [&own.access, &kept.access] {
        provider.identity.validate(token).await.expect(200);
    }
    let standing = format!(
        "SELECT count(*) AS n FROM sessions WHERE client_id = '{}' AND revoked_at IS NULL",
        doomed.id
    );
    assert_eq!(provider.identity.count(&standing), 0);
    let told: usize = provider
        .identity
        .events("identity.session_revoked.v1")
        .iter()
        .map(|event| event["sids"].as_array().unwrap().len())
        .sum();
    assert_eq!(told, 451);
    let audited = "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND details LIKE '%client_deleted%'";
    assert_eq!(provider.identity.count(audited), 451);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_client_deletion_is_finished_by_the_next_start() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    provider.identity.register("ada").await;
    let given = provider.given("ada", &client, "openid").await;
    let own = provider.identity.register("bob").await;
    provider.identity.sql(&format!(
        "DELETE FROM oauth_clients WHERE id = '{}'",
        client.id
    ));
    let base = provider.identity.running.base_url().to_owned();
    let _other = provider.identity.replica(&base).await;
    let refusal = wait_until("the end", Duration::from_secs(10), async || {
        let reply = provider.identity.validate(&given.access).await;
        (reply.status != 200).then_some(reply)
    });
    refused(refusal.await, 401, "token_revoked");
    provider.identity.validate(&own.access).await.expect(200);
}

fn configured(name: &str) -> OAuthClientConfig {
    OAuthClientConfig {
        client_id: "app".to_owned(),
        name: name.to_owned(),
        client_secret: Some(SECRET.into()),
        redirect_uris: CommaList(vec!["https://app.example.com/cb".to_owned()]),
        ..OAuthClientConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_clients_are_created_changed_and_deleted_by_the_configuration_alone() {
    let provider =
        Provider::start_with(|config| config.oauth_clients = vec![configured("First")]).await;
    let made = provider.confidential().await;
    let client = Registered {
        id: "app".to_owned(),
        secret: SECRET.to_owned(),
    };
    provider.introspect(&client, "x").await;
    for (method, path) in [
        (Method::DELETE, "/app"),
        (Method::PATCH, "/app"),
        (Method::POST, "/app/rotate-secret"),
    ] {
        let path = format!("/api/admin/oauth-clients{path}");
        let call = provider
            .identity
            .api
            .call(method, &path)
            .bearer(&provider.admin.access);
        refused(
            call.json(json!({ "name": "Mine" })).send().await,
            403,
            "forbidden",
        );
    }
    provider.identity.register("ada").await;
    let given = provider.given("ada", &client, "openid").await;
    let begin = async |clients: Vec<OAuthClientConfig>| {
        let mut config: Config = config(&provider.identity.db);
        config.oauth_clients = clients;
        start(config, deps(&provider.identity.clock)).await.unwrap()
    };
    let entries = || {
        let entries =
            "SELECT count(*) AS n FROM audit_log WHERE action LIKE 'client.%' AND via = 'system'";
        provider.identity.count(entries)
    };
    let app = async || {
        let shown = provider.administer(Method::GET, "/app").await;
        shown.expect(200).json()["client"].clone()
    };
    let first = app().await;
    assert_eq!(first["is_configured"], json!(true));
    assert_eq!(entries(), 1);

    // The file names no grant types, so the client keeps those it has. A new client would not get all of them.
    let before = first["grant_types"].as_array().map(Vec::len);
    provider.identity.sql(
        "UPDATE oauth_clients SET grant_types = 'authorization_code refresh_token urn:ietf:params:oauth:grant-type:device_code'",
    );
    let first = app().await;
    let with_device = first["grant_types"].as_array().map(Vec::len);
    assert_eq!((before, with_device), (Some(2), Some(3)));

    // Starting with the same configuration changes nothing.
    provider.identity.hand.advance(chrono::Duration::hours(1));
    let _same = begin(vec![configured("First")]).await;
    assert_eq!((app().await, entries()), (first.clone(), 1));

    let _changed = begin(vec![configured("Second")]).await;
    let second = app().await;
    assert_eq!(second["name"], json!("Second"));
    assert_eq!(second["created_at"], first["created_at"]);
    assert_eq!(second["updated_at"], json!("2026-11-21T13:00:00Z"));
    assert_eq!(entries(), 2);
    provider.identity.validate(&given.access).await.expect(200);

    // Tokens lose what the client may no longer have. Its sessions go on.
    let given = provider.given("ada", &client, "openid email").await;
    let narrowed = OAuthClientConfig {
        scope: CommaList(vec!["openid".to_owned()]),
        ..configured("Second")
    };
    let _narrowed = begin(vec![narrowed]).await;
    wait_until("the end", Duration::from_secs(5), async || {
        let told = provider.identity.validate(&given.access).await;
        (told.expect(200).json()["scope"] == "openid").then_some(())
    })
    .await;

    let given = provider.given("ada", &client, "openid").await;
    let _without = begin(Vec::new()).await;
    refused(
        provider.administer(Method::GET, "/app").await,
        404,
        "not_found",
    );
    let refusal = wait_until("the end", Duration::from_secs(5), async || {
        let reply = provider.identity.validate(&given.access).await;
        (reply.status != 200).then_some(reply)
    });
    refused(refusal.await, 401, "token_revoked");
    // A client that an administrator registered stays.
    provider.introspect(&made, "x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wildcard_among_the_configured_redirect_uris_stops_the_start() {
    let provider = Provider::start().await;
    let mut config: Config = config(&provider.identity.db);
    let mut client = configured("First");
    client.redirect_uris = CommaList(vec!["https://app.example.com/*".to_owned()]);
    config.oauth_clients = vec![client];
    let refused = start(config, deps(&provider.identity.clock)).await.err();
    let refused = refused.unwrap().to_string();
    assert!(refused.contains("without *"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_administered_from_the_command_line() {
    let provider = Provider::start().await;
    let db = &provider.identity.db;
    let empty = run(db, &["clients", "list"], "", &[]).good();
    assert_eq!(empty, "No clients found.\n");
    let args = [
        "clients",
        "create",
        "--name",
        "Résumé builder",
        "--redirect-uri",
        "https://app.example.com/cb",
        "https://app.example.com/silent",
        "--scope",
        "openid",
        "teams sessions:read",
        "--id-token-signed-response-alg",
        "RS256",
        "--introspect-any",
        "--json",
    ];
    let made: Value = serde_json::from_str(&run(db, &args, "", &[]).good()).unwrap();
    let client = Registered {
        id: made["client_id"].as_str().unwrap().to_owned(),
        secret: made["client_secret"].as_str().unwrap().to_owned(),
    };
    assert_eq!(made["client"]["scope"], json!("openid teams sessions:read"));
    assert_eq!(made["client"]["redirect_uris"].as_array().unwrap().len(), 2);
    assert_eq!(made["client"]["may_introspect_any"], json!(true));
    provider.introspect(&client, "x").await;

    let args = [
        "clients",
        "create",
        "--name",
        "Desktop",
        "--public",
        "--first-party",
    ];
    let said = run(db, &args, "", &[]).good();
    assert!(
        said.starts_with("Desktop was registered.\nclient_id: "),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
    let public = said.trim_end().rsplit(' ').next().unwrap().to_owned();

    let list = run(db, &["clients", "list"], "", &[]).good();
    assert!(
        list.contains(&client.id) && list.contains(&public),
        "{list}"
    );
    assert!(!list.contains(&client.secret));
    assert!(
        list.lines().all(|line| line.chars().count() <= 100),
        "{list}"
    );
    let shown = run(db, &["clients", "show", &client.id], "", &[]).good();
    for part in [
        "Résumé builder",
        "confidential",
        "RS256",
        "https://app.example.com/silent",
        "command",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let said = run(db, &["clients", "rotate-secret", &client.id], "", &[]).good();
    let fresh = said.trim_end().rsplit(' ').next().unwrap();
    let fresh = Registered {
        secret: fresh.to_owned(),
        ..client.clone()
    };
    provider.introspect(&fresh, "x").await;
    let error = run(db, &["clients", "rotate-secret", &public], "", &[]).refused(2);
    assert!(error.contains("public"), "{error}");

    provider.identity.register("ada").await;
    let given = provider.given("ada", &fresh, "openid").await;
    let said = run(db, &["clients", "delete", &client.id], "", &[]).good();
    assert_eq!(
        said,
        format!("{} was deleted; 1 session ended.\n", client.id)
    );
    let refusal = wait_until("the end", Duration::from_secs(5), async || {
        let reply = provider.identity.validate(&given.access).await;
        (reply.status != 200).then_some(reply)
    });
    refused(refusal.await, 401, "token_revoked");
    let error = run(db, &["clients", "show", &client.id], "", &[]).refused(1);
    assert!(
        error.contains("`identity-service admin clients list`"),
        "{error}"
    );
    for args in [
        &["clients"][..],
        &["clients", "create"],
        &[
            "clients",
            "create",
            "--name",
            "App",
            "--scope",
            "everything",
        ],
        &[
            "clients",
            "create",
            "--name",
            "App",
            "--redirect-uri",
            "http://app.example.com",
        ],
        &[
            "clients",
            "create",
            "--name",
            "App",
            "--redirect-uri",
            "https://app.example.com/*",
        ],
        &["clients", "show"],
    ] {
        assert_eq!(run(db, args, "", &[]).code, 2, "{args:?}");
    }
}
