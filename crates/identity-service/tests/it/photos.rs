use chrono::Duration;
use serde_json::{Value, json};
use service_kit::crypto::sha256;
use test_kit::images::{gif, jpeg, png, seen};
use test_kit::{ApiRequest, ApiResponse};

use crate::support::{Identity, SignedIn, refused};

/// Returns a file of each format with its media type.
fn files() -> [(&'static str, Vec<u8>); 3] {
    [
        ("image/jpeg", jpeg(700, 350)),
        ("image/png", png(700, 350)),
        ("image/gif", gif(700, 350, 3)),
    ]
}

fn own(user: &SignedIn) -> String {
    format!("/api/auth/user/{}/profile-photo", user.id)
}

fn public_file(user: &SignedIn) -> String {
    format!("/api/public/user/{}/profile-photo/file", user.id)
}

async fn upload(identity: &Identity, user: &SignedIn, file: &[u8]) -> Value {
    let call = identity.api.put(&own(user)).bearer(&user.access);
    call.body("image/png", file).send().await.expect(200).json()
}

async fn me(identity: &Identity, user: &SignedIn) -> Value {
    let call = identity.api.get("/api/auth/me").bearer(&user.access);
    call.send().await.expect(200).json()["user"].clone()
}

/// Returns the version in the URL of a photo, which must have the form that the contract gives.
fn version(identity: &Identity, user: &SignedIn, url: &Value) -> String {
    let start = format!("{}{}?v=", identity.api.base(), public_file(user));
    let version = url.as_str().unwrap().strip_prefix(&start).unwrap();
    assert_eq!(version.len(), 16, "{url}");
    version.to_owned()
}

/// Compares a body with its snapshot, without the values that differ in each run.
fn snapshot(name: &str, identity: &Identity, body: &Value) {
    let text = body.to_string().replace(identity.api.base(), "[base]");
    let mut body: Value = serde_json::from_str(&text).unwrap();
    redact(&mut body);
    insta::assert_json_snapshot!(name, body);
}

fn redact(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((head, _)) = text.split_once("?v=") {
                *text = format!("{head}?v=[version]");
            }
        }
        Value::Array(values) => values.iter_mut().for_each(redact),
        Value::Object(fields) => fields.values_mut().for_each(redact),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_of_each_format_is_shrunk_and_served_with_its_media_type() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    for (media_type, file) in files() {
        let meta = upload(&identity, &ada, &file).await;
        let current = version(&identity, &ada, &meta["profile_photo_url"]);
        let path = format!("{}?v={current}", public_file(&ada));
        let reply = identity.api.get(&path).send().await.expect(200);
        assert_eq!(reply.header("content-type"), media_type);
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(
            reply.header("content-security-policy"),
            "default-src 'none'; sandbox"
        );
        assert_eq!(reply.header("etag"), format!("\"{current}\""));
        assert_eq!(
            reply.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
        assert_eq!(seen(&reply.body).dimensions(), (512, 256));
        let behind_a_token = identity.api.get(&format!("{}/file", own(&ada)));
        let behind_a_token = behind_a_token.bearer(&ada.access).send().await.expect(200);
        assert_eq!(behind_a_token.body, reply.body);
        assert_eq!(behind_a_token.header("content-type"), media_type);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_with_an_account_has_its_photo() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let before = me(&identity, &ada).await;
    assert_eq!(
        (&before["profile_photo_url"], &before["has_profile_photo"]),
        (&Value::Null, &json!(false))
    );
    identity.hand.advance(Duration::seconds(5));
    let meta = upload(&identity, &ada, &png(64, 64)).await;
    snapshot("meta_with_photo", &identity, &meta);
    let shown = |user: &Value| {
        assert_eq!(user["profile_photo_url"], meta["profile_photo_url"]);
        assert_eq!(user["has_profile_photo"], true);
    };
    let user = me(&identity, &ada).await;
    snapshot("user_with_photo", &identity, &user);
    shown(&user);
    assert_eq!(user["updated_at"], "2026-11-21T12:00:05Z");
    let path = format!("/api/auth/user/{}", ada.id);
    shown(&identity.api.get(&path).send().await.json()["user"]);
    shown(&identity.login("ada", crate::support::PASSWORD).await.json()["user"]);
    shown(&identity.refresh(&ada.refresh).await.json()["user"]);
    let validated = identity.validate(&ada.access).await.json();
    shown(&validated);
    shown(&validated["user"]);

    let team = json!({ "name": "Crew", "slug": "crew" });
    let teams = identity.api.post("/api/teams").bearer(&ada.access);
    teams.json(team).send().await.expect(201);
    let members = identity.api.get("/api/teams/crew/members");
    let members = members.bearer(&ada.access).send().await.expect(200).json();
    assert_eq!(
        members["members"][0]["profile_photo_url"],
        meta["profile_photo_url"]
    );
    assert_eq!(identity.events("identity.user_changed.v1").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_photo_gets_a_new_version_and_replaces_the_old_one() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let first = upload(&identity, &ada, &png(64, 64)).await;
    let first = version(&identity, &ada, &first["profile_photo_url"]);
    let second = upload(&identity, &ada, &jpeg(64, 64)).await;
    let second = version(&identity, &ada, &second["profile_photo_url"]);
    assert_ne!(first, second);
    for query in [
        "",
        "?v=",
        "?v=nonsense",
        "?v=%ff",
        "?w=1",
        &format!("?v={first}"),
    ] {
        let path = format!("{}{query}", public_file(&ada));
        let reply = identity.api.get(&path).send().await.expect(200);
        assert_eq!(reply.header("cache-control"), "no-cache", "{query}");
        assert_eq!(reply.header("content-type"), "image/jpeg");
        assert_eq!(reply.header("etag"), format!("\"{second}\""));
    }
    // Uploading the same file again keeps the version.
    let again = upload(&identity, &ada, &jpeg(64, 64)).await;
    assert_eq!(
        version(&identity, &ada, &again["profile_photo_url"]),
        second
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matching_etag_gets_304_and_head_is_answered_like_get() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let meta = upload(&identity, &ada, &png(64, 64)).await;
    let current = version(&identity, &ada, &meta["profile_photo_url"]);
    let path = format!("{}?v={current}", public_file(&ada));
    let known = |value: String| identity.api.get(&path).header("if-none-match", value);
    for value in [
        format!("\"{current}\""),
        format!("W/\"{current}\""),
        format!("\"x\", \"{current}\""),
        "*".to_owned(),
    ] {
        let reply = known(value).send().await.expect(304);
        assert!(reply.body.is_empty());
        assert_eq!(reply.header("etag"), format!("\"{current}\""));
        assert_eq!(
            reply.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
    }
    for value in ["\"x\"", "x", ""] {
        known(value.to_owned()).send().await.expect(200);
    }
    let whole = identity.api.get(&path).send().await.expect(200);
    for path in [path.clone(), format!("{}/file", own(&ada))] {
        let head = identity.api.call(reqwest::Method::HEAD, &path);
        let head = head.bearer(&ada.access).send().await.expect(200);
        assert!(head.body.is_empty());
        assert_eq!(head.header("content-type"), "image/png");
        assert_eq!(head.header("content-length"), whole.body.len().to_string());
        assert_eq!(head.header("etag"), whole.header("etag"));
    }
    let head = identity.api.call(reqwest::Method::HEAD, &path);
    let head = head.header("if-none-match", "*").send().await;
    assert_eq!(head.status, 304);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_can_remove_their_photo_repeatedly() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    upload(&identity, &ada, &png(64, 64)).await;
    for _ in 0..2 {
        let call = identity.api.delete(&own(&ada)).bearer(&ada.access);
        assert!(call.send().await.expect(204).body.is_empty());
    }
    let file = identity.api.get(&public_file(&ada)).send().await;
    refused(file, 404, "photo_not_found");
    let file = identity.api.get(&format!("{}/file", own(&ada)));
    refused(
        file.bearer(&ada.access).send().await,
        404,
        "photo_not_found",
    );
    let meta = identity.api.get(&own(&ada)).bearer(&ada.access);
    let meta = meta.send().await.expect(200).json();
    snapshot("meta_without_photo", &identity, &meta);
    let user = me(&identity, &ada).await;
    assert_eq!(
        (&user["profile_photo_url"], &user["has_profile_photo"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM profile_photos"),
        0
    );
    // One upload and one removal.
    assert_eq!(identity.events("identity.user_changed.v1").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_segment_of_digits_is_an_id_and_any_other_a_username() {
    let identity = Identity::start().await;
    let ada = identity.register("Ada_L-1").await;
    // A username of digits that are nobody's id.
    let digits = identity.register("12345").await;
    upload(&identity, &digits, &png(64, 64)).await;
    for area in ["auth", "public"] {
        let get = async |segment: &str| {
            let path = format!("/api/{area}/user/{segment}/profile-photo");
            identity.api.get(&path).bearer(&ada.access).send().await
        };
        for segment in [&ada.id.to_string(), "Ada_L-1", "ada_l-1", "ADA_L-1"] {
            let meta = get(segment).await.expect(200).json();
            let expected = json!({
                "user_id": ada.id, "username": "Ada_L-1", "profile_photo_url": null, "has_photo": false,
            });
            assert_eq!(meta, expected, "{area} {segment}");
        }
        let meta = get(&digits.id.to_string()).await.expect(200).json();
        assert_eq!(
            (&meta["username"], &meta["has_photo"]),
            (&json!("12345"), &json!(true))
        );
        for segment in [
            "12345",
            "0",
            &format!("0{}", ada.id),
            "99999999999999999999999",
            "nobody",
            "-1",
            "1e3",
            "ada%20l",
            "%C3%A4da",
            &"x".repeat(2_000),
        ] {
            refused(get(segment).await, 404, "user_not_found");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn photo_files_are_found_only_by_id() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    upload(&identity, &ada, &png(64, 64)).await;
    for segment in ["ada", "999", "0", &format!("0{}", ada.id), "x%00", "1e3"] {
        for area in ["auth", "public"] {
            let path = format!("/api/{area}/user/{segment}/profile-photo/file");
            let reply = identity.api.get(&path).bearer(&ada.access).send().await;
            assert_eq!(reply.status, 404, "{path}");
            assert_eq!(reply.header("cache-control"), "no-store");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn photos_of_many_users_are_listed_with_each_user_once() {
    let identity = Identity::start().await;
    let ada = identity.register("Ada").await;
    let bob = identity.register("bob").await;
    let digits = identity.register("777").await;
    upload(&identity, &bob, &png(64, 64)).await;
    let ask = async |body: Value| {
        let call = identity.api.post("/api/auth/users/profile-photos");
        call.bearer(&ada.access).json(body).send().await
    };
    let body = json!({
        "user_ids": [bob.id, 4711, ada.id, bob.id],
        "usernames": ["ADA", "nobody", "bob", "777", "777", "not a name"],
    });
    let list = ask(body).await.expect(200).json();
    snapshot("photos_of_many", &identity, &list);
    let ids: Vec<i64> = list["users"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user["user_id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids, [bob.id, ada.id, digits.id]);
    assert_eq!(list["total"], 3);
    let by_name = ask(json!({ "usernames": ["Bob"] }))
        .await
        .expect(200)
        .json();
    assert_eq!(by_name["users"][0]["has_photo"], true);
    for nobody in [json!({}), json!({ "user_ids": null, "usernames": [] })] {
        let list = ask(nobody).await.expect(200).json();
        assert_eq!(list, json!({ "users": [], "total": 0 }));
    }
    let most = json!({ "user_ids": vec![ada.id; 100], "usernames": vec!["bob"; 100] });
    assert_eq!(ask(most).await.expect(200).json()["total"], 2);
    for bad in [
        json!({ "user_ids": vec![ada.id; 101], "usernames": vec!["bob"; 100] }),
        json!({ "user_ids": [0] }),
        json!({ "user_ids": [-1] }),
        json!({ "user_ids": ["1"] }),
        json!({ "user_ids": [1.5] }),
        json!({ "user_ids": 1 }),
        json!({ "usernames": "ada" }),
        json!({ "usernames": [1] }),
        json!([]),
    ] {
        refused(ask(bad).await, 400, "validation_failed");
    }
    let large = json!({ "usernames": ["x".repeat(70_000)] });
    refused(ask(large).await, 413, "payload_too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_superadmin_sees_the_photo_of_an_inactive_account() {
    let identity = Identity::start_with(|config| config.tokens.remember = false).await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let root = identity.register("root").await;
    upload(&identity, &ada, &png(64, 64)).await;
    identity.sql(&format!(
        "UPDATE users SET is_active = FALSE WHERE id = {}",
        ada.id
    ));
    identity.sql(&format!(
        "UPDATE users SET role = 'SUPERADMIN' WHERE id = {}",
        root.id
    ));
    let answers = async |token: &str| {
        let get = async |path: String| identity.api.get(&path).bearer(token).send().await.status;
        let body = json!({ "user_ids": [ada.id], "usernames": ["ada"] });
        let many = identity.api.post("/api/auth/users/profile-photos");
        let many = many.bearer(token).json(body).send().await.expect(200);
        (
            get(own(&ada)).await,
            get("/api/auth/user/ada/profile-photo".to_owned()).await,
            get(format!("{}/file", own(&ada))).await,
            many.json()["total"].clone(),
        )
    };
    assert_eq!(answers(&bob.access).await, (404, 404, 404, json!(0)));
    assert_eq!(answers(&root.access).await, (200, 200, 200, json!(1)));
    // No cache on the way keeps what only a superadmin may see.
    let meta = identity.api.get(&own(&ada)).bearer(&root.access);
    let meta = meta.send().await.expect(200).json();
    let (_, version) = meta["profile_photo_url"]
        .as_str()
        .unwrap()
        .split_once('?')
        .unwrap();
    let file = format!("{}/file?{version}", own(&ada));
    let file = identity.api.get(&file).bearer(&root.access).send().await;
    assert_eq!(
        file.expect(200).header("cache-control"),
        "private, no-cache"
    );
    for path in [
        public_file(&ada),
        format!("/api/public/user/{}/profile-photo", ada.id),
        "/api/public/user/ada/profile-photo".to_owned(),
    ] {
        let reply = identity.api.get(&path).bearer(&root.access).send().await;
        refused(reply, 404, "user_not_found");
    }
    // The inactive account itself can change nothing.
    let call = identity.api.put(&own(&ada)).bearer(&ada.access);
    let reply = call.body("image/png", png(9, 9)).send().await;
    refused(reply, 401, "token_revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_owner_can_change_a_photo() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    upload(&identity, &ada, &png(64, 64)).await;
    let put = |path: &str| identity.api.put(path).body("image/png", png(9, 9));
    let delete = |path: &str| identity.api.delete(path);
    let calls: [&dyn Fn(&str) -> ApiRequest; 2] = [&put, &delete];
    for call in calls {
        refused(
            call(&own(&ada)).send().await,
            401,
            "authentication_required",
        );
        let with = async |path: &str| call(path).bearer(&bob.access).send().await;
        refused(with(&own(&ada)).await, 403, "forbidden");
        refused(
            with("/api/auth/user/4711/profile-photo").await,
            403,
            "forbidden",
        );
        for segment in ["bob", "0", "x", "99999999999999999999999"] {
            let path = format!("/api/auth/user/{segment}/profile-photo");
            refused(with(&path).await, 404, "user_not_found");
        }
    }
    assert_eq!(me(&identity, &ada).await["has_profile_photo"], true);
    assert_eq!(me(&identity, &bob).await["has_profile_photo"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_uploads_leave_one_photo_with_its_own_version() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let uploads: Vec<_> = (0..12)
        .map(|n| {
            let call = identity.api.put(&own(&ada)).bearer(&ada.access);
            let file = if n % 3 == 0 {
                jpeg(40 + n, 30)
            } else {
                png(40 + n, 30)
            };
            tokio::spawn(async move { call.body("image/png", file).send().await })
        })
        .collect();
    let mut answered = Vec::new();
    for upload in uploads {
        let meta = upload.await.unwrap().expect(200).json();
        answered.push(meta["profile_photo_url"].clone());
    }
    let shown = me(&identity, &ada).await["profile_photo_url"].clone();
    assert!(answered.contains(&shown));
    let version = version(&identity, &ada, &shown);
    let file = identity
        .api
        .get(&public_file(&ada))
        .send()
        .await
        .expect(200);
    assert_eq!(file.header("etag"), format!("\"{version}\""));
    assert_eq!(hash_prefix(&file), version);
}

/// Computes the version of a file: the first 12 bytes of its SHA-256, in Base64.
fn hash_prefix(reply: &ApiResponse) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&sha256(&reply.body)[..12])
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_uploads_and_removals_leave_photo_and_account_consistent() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    for _ in 0..5 {
        let calls: Vec<_> = (0..8)
            .map(|n| {
                let path = own(&ada);
                let call = if n % 2 == 0 {
                    identity.api.put(&path).body("image/png", png(20 + n, 20))
                } else {
                    identity.api.delete(&path)
                };
                tokio::spawn(call.bearer(&ada.access).send())
            })
            .collect();
        for call in calls {
            let status = call.await.unwrap().status;
            assert!(status == 200 || status == 204, "{status}");
        }
        let stored = identity.count("SELECT count(*) AS n FROM profile_photos");
        let shown = me(&identity, &ada).await["has_profile_photo"] == true;
        assert_eq!(stored == 1, shown);
    }
}
