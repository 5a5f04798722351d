use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Duration;
use event_types::MailTemplate;
use serde_json::{Value, json};
use test_kit::images::{gif, jpeg, png, seen};
use test_kit::{ApiResponse, FakePage, FakeWebServer};

use crate::oauth_fixture::OAuth;
use crate::support::{Identity, PASSWORD, SignedIn, refused, signed_in, texts};

async fn put(identity: &Identity, user: &SignedIn, body: Value) -> ApiResponse {
    let path = format!("/api/auth/user/{}", user.id);
    let call = identity.api.put(&path).bearer(&user.access);
    call.json(body).send().await
}

async fn me(identity: &Identity, user: &SignedIn) -> Value {
    let call = identity.api.get("/api/auth/me").bearer(&user.access);
    call.send().await.expect(200).json()["user"].clone()
}

async fn photo(identity: &Identity, user: &SignedIn) -> ApiResponse {
    let path = format!("/api/public/user/{}/profile-photo/file", user.id);
    identity.api.get(&path).send().await
}

fn data_url(media_type: &str, file: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(file))
}

/// Starts an identity service that may fetch from this machine.
async fn fetching() -> Identity {
    Identity::start_with(|config| {
        config.http.allow_plain = true;
        config.http.allowed_cidrs.0 = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_changed_by_its_owner_field_by_field() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity.hand.advance(Duration::seconds(7));
    let body = json!({
        "bio": "Countess\nof Lovelace ♜", "website_url": "https://example.com/ada",
        "role": "SUPERADMIN", "premium_tier": "PREMIUM", "id": 99, "username": "root",
        "email_verified": true, "is_active": false, "has_profile_photo": true, "created_at": "x",
    });
    let reply = put(&identity, &ada, body).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    insta::assert_json_snapshot!("profile_updated", reply.json());
    assert_eq!(reply.json()["user"], me(&identity, &ada).await);
    assert_eq!(reply.json()["user"]["updated_at"], "2026-11-21T12:00:07Z");

    // Absent fields keep their values.
    identity.hand.advance(Duration::seconds(1));
    let user = put(&identity, &ada, json!({ "bio": null }))
        .await
        .expect(200)
        .json();
    assert_eq!(user["user"]["bio"], Value::Null);
    assert_eq!(user["user"]["website_url"], "https://example.com/ada");
    assert_eq!(user["user"]["updated_at"], "2026-11-21T12:00:08Z");
    let user = put(&identity, &ada, json!({ "website_url": null }))
        .await
        .expect(200)
        .json();
    assert_eq!(user["user"]["website_url"], Value::Null);
    assert_eq!(identity.events("identity.user_changed.v1").len(), 3);

    // Unchanged values are no change.
    identity.hand.advance(Duration::seconds(1));
    for same in [
        json!({}),
        json!({ "bio": null, "website_url": null, "profile_photo_url": null }),
    ] {
        let user = put(&identity, &ada, same).await.expect(200).json();
        assert_eq!(user["user"]["updated_at"], "2026-11-21T12:00:08Z");
    }
    assert_eq!(identity.events("identity.user_changed.v1").len(), 3);
    let path = format!("/api/auth/user/{}", ada.id);
    let seen = identity.api.get(&path).send().await.expect(200).json();
    assert_eq!(seen["user"]["role"], "USER");
}

#[tokio::test(flavor = "multi_thread")]
async fn name_language_and_time_zone_are_optional_and_only_the_name_is_public() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let body = json!({ "display_name": " Ada Lovelace ♜ ", "locale": "en_gb", "zoneinfo": "Europe/London" });
    let user = put(&identity, &ada, body).await.expect(200).json()["user"].clone();
    let own = ["Ada Lovelace ♜", "en-GB", "Europe/London"];
    let shown =
        |user: &Value| ["display_name", "locale", "zoneinfo"].map(|name| user[name].clone());
    assert_eq!(shown(&user), own.map(|value| json!(value)));
    assert_eq!(user, me(&identity, &ada).await);
    let path = format!("/api/auth/user/{}", ada.id);
    let bob = identity.register("bob").await;
    for call in [
        identity.api.get(&path),
        identity.api.get(&path).bearer(&bob.access),
    ] {
        let seen = call.send().await.expect(200).json();
        assert_eq!(
            shown(&seen["user"]),
            [json!(own[0]), Value::Null, Value::Null]
        );
    }
    let call = identity.api.get("/api/auth/export").bearer(&ada.access);
    let exported = call.send().await.expect(200).json();
    assert_eq!(shown(&exported["account"]), own.map(|value| json!(value)));

    let nothing = json!({ "display_name": null, "locale": null, "zoneinfo": null });
    let user = put(&identity, &ada, nothing).await.expect(200).json()["user"].clone();
    assert_eq!(shown(&user), [Value::Null, Value::Null, Value::Null]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_is_checked_before_the_body() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let call = |id: &str| identity.api.put(&format!("/api/auth/user/{id}"));
    let broken = |id: &str| call(id).body("text/plain", "{ not json");
    let id = ada.id.to_string();
    refused(broken(&id).send().await, 401, "authentication_required");
    refused(broken(&id).bearer("x").send().await, 401, "invalid_token");
    for other in [bob.id.to_string(), "4711".to_owned()] {
        refused(
            broken(&other).bearer(&ada.access).send().await,
            403,
            "forbidden",
        );
        let good = call(&other).bearer(&ada.access).json(json!({ "bio": "x" }));
        refused(good.send().await, 403, "forbidden");
    }
    for nobody in ["0", "ada", "01", "99999999999999999999999"] {
        let reply = broken(nobody).bearer(&ada.access).send().await;
        refused(reply, 404, "user_not_found");
    }
    refused(
        broken(&id).bearer(&ada.access).send().await,
        400,
        "validation_failed",
    );
    identity.hand.advance(Duration::days(31));
    refused(
        broken(&id).bearer(&ada.access).send().await,
        401,
        "token_expired",
    );
    let delete = identity
        .api
        .call(reqwest::Method::PATCH, &format!("/api/auth/user/{id}"));
    let reply = refused(delete.send().await, 405, "method_not_allowed");
    assert!(
        reply.header("allow").contains("PUT"),
        "{}",
        reply.header("allow")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_field_refuses_the_whole_request() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let before = me(&identity, &ada).await;
    let long = format!("https://example.com/{}", "x".repeat(2_048));
    for bad in [
        json!({ "bio": "x".repeat(2_001) }),
        json!({ "bio": 5 }),
        json!({ "display_name": "" }),
        json!({ "display_name": " \u{a0}" }),
        json!({ "display_name": "x".repeat(101) }),
        json!({ "display_name": "Ada\nroot" }),
        json!({ "display_name": "Ada\u{202e}toor" }),
        json!({ "display_name": "Ada\u{200b}" }),
        json!({ "display_name": 5 }),
        json!({ "locale": "in English" }),
        json!({ "locale": "" }),
        json!({ "locale": "en<script>" }),
        json!({ "zoneinfo": "Europe/Berln" }),
        json!({ "zoneinfo": "../../etc/passwd" }),
        json!({ "zoneinfo": "" }),
        json!({ "bio": ["x"] }),
        json!({ "bio": "a\u{0}b" }),
        json!({ "website_url": "javascript:alert(1)" }),
        json!({ "website_url": "ftp://example.com" }),
        json!({ "website_url": "example.com" }),
        json!({ "website_url": "" }),
        json!({ "website_url": long }),
        json!({ "website_url": 5 }),
        json!({ "email": "nonsense" }),
        json!({ "email": "" }),
        json!({ "email": null }),
        json!({ "email": 5 }),
        json!({ "email": "x@placeholder.invalid" }),
        json!({ "email": "x@sub.INVALID" }),
        json!({ "profile_photo_url": 5 }),
        json!({ "profile_photo_url": "" }),
        json!({ "profile_photo_url": "x" }),
        json!({ "profile_photo_url": "javascript:alert(1)" }),
        json!({ "profile_photo_url": "ftp://example.com/a.png" }),
        json!({ "profile_photo_url": "file:///etc/passwd" }),
        json!({ "profile_photo_url": "http://example.com/a.png" }),
        json!({ "profile_photo_url": "https://user:secret@example.com/a.png" }),
        json!({ "profile_photo_url": "data:text/html;base64,PGh0bWw+" }),
        json!({ "profile_photo_url": "data:image/svg+xml;base64,PHN2Zz4=" }),
        json!({ "profile_photo_url": "data:image/png,abc" }),
        json!({ "profile_photo_url": "data:image/png;base64,?" }),
        json!([]),
    ] {
        let mut body = bad.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.entry("bio").or_insert(json!("new"));
        }
        let reply = put(&identity, &ada, body).await;
        assert_eq!(reply.status, 400, "{bad}: {}", reply.text());
        refused(reply, 400, "validation_failed");
    }
    assert_eq!(me(&identity, &ada).await, before);
    // The longest valid values.
    let website = format!("https://example.com/{}", "x".repeat(2_048 - 20));
    let body = json!({ "bio": "π".repeat(2_000), "website_url": website });
    let user = put(&identity, &ada, body).await.expect(200).json();
    assert_eq!(user["user"]["website_url"], website);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_address_can_be_replaced_once_which_mails_a_verification_link() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let user = put(&identity, &ada, json!({ "email": "Ada@Example.com" })).await;
    let user = user.expect(200).json();
    assert_eq!(
        (&user["user"]["email"], &user["user"]["email_verified"]),
        (&json!("Ada@Example.com"), &json!(false))
    );
    let mails = identity.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, "Ada@Example.com");
    let MailTemplate::VerifyEmail { username, link, .. } = &mails[0].text else {
        panic!("another mail");
    };
    assert_eq!(username, "ada");
    assert!(link.starts_with(&format!("{}/verify-email/", identity.api.base())));
    let entries = "SELECT action AS t FROM audit_log WHERE action = 'account.email_set'";
    assert_eq!(texts(&identity.db.pool(1), entries).len(), 1);

    // The same address in another case is no change. Another address requires more than a token.
    for same in ["Ada@Example.com", "ada@example.COM"] {
        let user = put(&identity, &ada, json!({ "email": same }))
            .await
            .expect(200)
            .json();
        assert_eq!(user["user"]["email"], "Ada@Example.com");
    }
    for other in ["new@example.com", "ada@placeholder.invalid", "nonsense"] {
        let body = json!({ "email": other, "bio": "not applied" });
        refused(put(&identity, &ada, body).await, 400, "email_not_updatable");
    }
    assert_eq!(me(&identity, &ada).await["bio"], Value::Null);
    assert_eq!(identity.mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_first_party_sign_in_sets_the_address_and_responses_match_me() {
    let site = "https://app.example.com";
    let oauth = OAuth::start_with(|config| {
        config.sso.allowed_origins.0 = vec![site.to_owned()];
    })
    .await;
    let (identity, ada) = (&oauth.identity, &oauth.ada);
    identity.sql("UPDATE oauth_clients SET scope = 'openid email account'");
    let own = async |scope: &str| signed_in(&oauth.tokens("own", scope).await);
    let mut handed_over = ada.clone();
    handed_over.access = oauth.handed_over(site).await;
    let address = "ada@example.com";
    let callers = [
        (handed_over, json!(address)),
        (own("account").await, Value::Null),
        (own("account email").await, json!(address)),
    ];
    for (caller, _) in &callers {
        for email in [address, "ada@placeholder.invalid", "nonsense"] {
            let body = json!({ "email": email, "bio": "not applied" });
            let reply = put(identity, caller, body).await;
            refused(reply, 403, "insufficient_scope");
        }
    }
    let untouched = me(identity, ada).await;
    assert_eq!(untouched["email"], "ada@placeholder.invalid");
    assert_eq!(untouched["bio"], Value::Null);
    let reply = put(identity, ada, json!({ "email": address })).await;
    assert_eq!(reply.expect(200).json()["user"]["email"], address);
    for (caller, shown) in callers {
        for body in [json!({}), json!({ "bio": shown })] {
            let told = put(identity, &caller, body).await.expect(200).json();
            assert_eq!(told["user"], me(identity, &caller).await);
            assert_eq!(told["user"]["email"], shown);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_the_placeholder_address_is_no_change_of_address() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let body = json!({ "email": "ada@placeholder.invalid", "bio": "x" });
    let user = put(&identity, &ada, body).await.expect(200).json();
    assert_eq!(user["user"]["email"], "ada@placeholder.invalid");
    assert_eq!(user["user"]["bio"], "x");
    assert!(identity.mails().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_address_is_refused_until_its_claim_expires() {
    let identity = Identity::start().await;
    let body = json!({ "username": "first", "password": PASSWORD, "email": "shared@example.com" });
    let first = identity
        .api
        .post("/api/auth/register")
        .json(body)
        .send()
        .await;
    let first = signed_in(&first.expect(201).json());
    let ada = identity.register("ada").await;
    let body = json!({ "email": "SHARED@example.com", "bio": "not applied" });
    refused(put(&identity, &ada, body.clone()).await, 400, "email_taken");
    assert_eq!(me(&identity, &ada).await["bio"], Value::Null);
    assert_eq!(identity.mails().len(), 1);
    // An account that registered with an address has no placeholder to replace.
    let own = put(&identity, &first, json!({ "email": "new@example.com" })).await;
    refused(own, 400, "email_not_updatable");
    identity.hand.advance(Duration::hours(24));
    put(&identity, &ada, body).await.expect(200);
    assert_eq!(me(&identity, &ada).await["email"], "SHARED@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_accounts_that_set_one_address_concurrently_one_succeeds() {
    let identity = Identity::start().await;
    let mut calls = Vec::new();
    for n in 0..8 {
        let user = identity.register(&format!("user{n}")).await;
        let path = format!("/api/auth/user/{}", user.id);
        let call = identity.api.put(&path).bearer(&user.access);
        calls.push(call.json(json!({ "email": "wanted@example.com" })));
    }
    let calls: Vec<_> = calls
        .into_iter()
        .map(|call| tokio::spawn(call.send()))
        .collect();
    let mut given = 0;
    for call in calls {
        let reply = call.await.unwrap();
        if reply.status == 200 {
            given += 1;
        } else {
            refused(reply, 400, "email_taken");
        }
    }
    assert_eq!(given, 1);
    assert_eq!(identity.mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_addresses_set_concurrently_an_account_gets_one() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let calls: Vec<_> = (0..8)
        .map(|n| {
            let path = format!("/api/auth/user/{}", ada.id);
            let call = identity.api.put(&path).bearer(&ada.access);
            let body = json!({ "email": format!("ada{n}@example.com") });
            tokio::spawn(call.json(body).send())
        })
        .collect();
    let mut given = 0;
    for call in calls {
        let reply = call.await.unwrap();
        if reply.status == 200 {
            given += 1;
        } else {
            refused(reply, 400, "email_not_updatable");
        }
    }
    assert_eq!(given, 1);
    assert_eq!(identity.count("SELECT count(*) AS n FROM email_claims"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_in_a_data_url_is_stored_by_its_content_not_its_media_type() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    for (said, file, is) in [
        ("image/jpeg", jpeg(600, 300), "image/jpeg"),
        ("image/png", png(600, 300), "image/png"),
        ("IMAGE/GIF", gif(600, 300, 2), "image/gif"),
        ("image/png", jpeg(600, 300), "image/jpeg"),
    ] {
        let body = json!({ "profile_photo_url": data_url(said, &file), "bio": said });
        let user = put(&identity, &ada, body).await.expect(200).json();
        let url = user["user"]["profile_photo_url"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(user["user"]["has_profile_photo"], true);
        let served = photo(&identity, &ada).await.expect(200);
        assert_eq!(served.header("content-type"), is);
        assert_eq!(seen(&served.body).dimensions(), (512, 256));
        // Sending the photo's current URL changes nothing.
        let body = json!({ "profile_photo_url": url });
        let user = put(&identity, &ada, body).await.expect(200).json();
        assert_eq!(user["user"]["profile_photo_url"], url);
    }
    let body = json!({ "profile_photo_url": null });
    let user = put(&identity, &ada, body).await.expect(200).json();
    assert_eq!(
        (
            &user["user"]["profile_photo_url"],
            &user["user"]["has_profile_photo"]
        ),
        (&Value::Null, &json!(false))
    );
    refused(photo(&identity, &ada).await, 404, "photo_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_url_without_an_image_or_with_too_large_an_image_is_refused() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let send = async |file: &[u8]| {
        let url = data_url("image/png", file);
        put(
            &identity,
            &ada,
            json!({ "profile_photo_url": url, "bio": "not applied" }),
        )
        .await
    };
    let cut = png(60, 60);
    for file in [b"<svg/>".as_slice(), b"", &cut[..cut.len() / 2]] {
        refused(send(file).await, 400, "photo_unreachable");
    }
    let mut largest = png(60, 60);
    largest.resize(5 * 1024 * 1024 + 1, 0);
    refused(send(&largest).await, 413, "photo_too_large");
    let mut claims = gif(16, 16, 1);
    claims[6..8].copy_from_slice(&30_000_u16.to_le_bytes());
    claims[8..10].copy_from_slice(&30_000_u16.to_le_bytes());
    refused(send(&claims).await, 413, "photo_too_large");
    // A body of more than 8 MiB is not read.
    let reply = put(
        &identity,
        &ada,
        json!({ "bio": "x".repeat(8 * 1024 * 1024) }),
    )
    .await;
    refused(reply, 413, "payload_too_large");
    assert_eq!(me(&identity, &ada).await["bio"], Value::Null);
    largest.truncate(5 * 1024 * 1024);
    send(&largest).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_fetched_once_from_its_url() {
    let identity = fetching().await;
    let ada = identity.register("ada").await;
    // The media type that the server declares is not trusted either.
    let web = FakeWebServer::start([("/a", FakePage::File("text/html", png(600, 300)))]).await;
    let body = json!({ "profile_photo_url": web.url("/a?size=large#x"), "bio": "applied" });
    let user = put(&identity, &ada, body).await.expect(200).json();
    assert_eq!(user["user"]["bio"], "applied");
    assert_eq!(web.calls(), ["GET /a"]);
    let served = photo(&identity, &ada).await.expect(200);
    assert_eq!(seen(&served.body).dimensions(), (512, 256));
    assert!(!user.to_string().contains(&web.url("")));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failed_photo_fetch_gets_the_same_response() {
    let identity = fetching().await;
    let ada = identity.register("ada").await;
    let picture = png(64, 64);
    let mut large = picture.clone();
    large.resize(5 * 1024 * 1024 + 1, 0);
    let mut claims = gif(16, 16, 1);
    claims[6..8].copy_from_slice(&30_000_u16.to_le_bytes());
    claims[8..10].copy_from_slice(&30_000_u16.to_le_bytes());
    let web = FakeWebServer::start([
        ("/good", FakePage::File("image/png", picture.clone())),
        ("/missing", FakePage::Failed(404, picture.clone())),
        ("/broken", FakePage::Failed(500, picture.clone())),
        ("/created", FakePage::Failed(201, picture.clone())),
        ("/html", FakePage::File("image/png", b"<html>".to_vec())),
        ("/svg", FakePage::File("image/svg+xml", b"<svg/>".to_vec())),
        ("/empty", FakePage::File("image/png", Vec::new())),
        (
            "/cut",
            FakePage::File("image/png", picture[..picture.len() / 2].to_vec()),
        ),
        ("/large", FakePage::File("image/png", large)),
        ("/claims", FakePage::File("image/gif", claims)),
        ("/endless", FakePage::Unannounced(20 * 1024 * 1024)),
        ("/slow", FakePage::Hang),
    ])
    .await;
    web.set("/redirect", FakePage::Redirect(web.url("/good")));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = closed.local_addr().unwrap();
    let paths = [
        "missing", "broken", "created", "html", "svg", "empty", "cut", "large", "claims",
        "endless", "slow", "redirect", "nowhere",
    ];
    let mut urls: Vec<String> = paths
        .iter()
        .map(|path| web.url(&format!("/{path}")))
        .collect();
    urls.extend([
        format!("http://{closed}/"),
        "http://no-such-host.invalid/".to_owned(),
        // These addresses are outside of the allowed networks.
        "http://10.0.0.1/".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://[::1]/".to_owned(),
    ]);
    let mut bodies = Vec::new();
    for url in urls {
        let started = std::time::Instant::now();
        let body = json!({ "profile_photo_url": url, "bio": "not applied" });
        let reply = refused(put(&identity, &ada, body).await, 400, "photo_unreachable");
        bodies.push(reply.body);
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "{url}"
        );
    }
    assert!(bodies.windows(2).all(|two| two[0] == two[1]));
    assert!(!web.calls().contains(&"GET /good".to_owned()));
    let user = me(&identity, &ada).await;
    assert_eq!(
        (&user["bio"], &user["has_profile_photo"]),
        (&Value::Null, &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_url_cannot_make_the_service_call_its_own_machine() {
    let identity = Identity::start_with(|config| config.http.allow_plain = true).await;
    let ada = identity.register("ada").await;
    let web = FakeWebServer::start([("/a", FakePage::File("image/png", png(64, 64)))]).await;
    let port = web.url("").rsplit(':').next().unwrap().to_owned();
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "0",
    ] {
        let url = format!("http://{host}:{port}/a");
        let reply = put(&identity, &ada, json!({ "profile_photo_url": url })).await;
        refused(reply, 400, "photo_unreachable");
    }
    assert!(web.calls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_photo_is_fetched_for_a_request_that_is_refused_anyway() {
    let identity = fetching().await;
    let ada = identity.register("ada").await;
    put(&identity, &ada, json!({ "email": "ada@example.com" }))
        .await
        .expect(200);
    let web = FakeWebServer::start([("/a", FakePage::File("image/png", png(64, 64)))]).await;
    for other in [
        json!({ "bio": "x".repeat(2_001) }),
        json!({ "website_url": "x" }),
        json!({ "email": "new@example.com" }),
    ] {
        let mut body = other;
        body["profile_photo_url"] = json!(web.url("/a"));
        assert_eq!(put(&identity, &ada, body).await.status, 400);
    }
    assert!(web.calls().is_empty());
}
