use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use test_kit::images::{
    ExpectedResult, bombs, exif, files, gif, jpeg, jpeg_with_app1, png, png_chunk, png_with_chunks,
};
use test_kit::{ApiResponse, raw_request};

use crate::support::{Identity, SignedIn, refused};

const MOST: usize = 5 * 1024 * 1024;

async fn upload(identity: &Identity, user: &SignedIn, file: &[u8]) -> ApiResponse {
    let path = format!("/api/auth/user/{}/profile-photo", user.id);
    let call = identity.api.put(&path).bearer(&user.access);
    call.body("image/png", file).send().await
}

async fn served(identity: &Identity, user: &SignedIn) -> ApiResponse {
    let path = format!("/api/public/user/{}/profile-photo/file", user.id);
    identity.api.get(&path).send().await
}

fn contains(file: &[u8], text: &[u8]) -> bool {
    file.windows(text.len()).any(|window| window == text)
}

/// Builds a multipart form as a browser sends it.
fn form(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend(b"--line\r\n");
        let head =
            format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"a.svg\"\r\n\r\n");
        body.extend(head.as_bytes());
        body.extend(*value);
        body.extend(b"\r\n");
    }
    body.extend(b"--line--\r\n");
    body
}

const FORM: &str = "multipart/form-data; boundary=line";

#[tokio::test(flavor = "multi_thread")]
async fn every_hostile_image_is_answered_soon_and_the_service_goes_on() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    for bomb in bombs() {
        let started = Instant::now();
        let reply = upload(&identity, &ada, &bomb.file).await;
        // A generous limit, because the machine may be busy. The cost itself is measured where nothing else runs.
        assert!(started.elapsed() < Duration::from_secs(5), "{}", bomb.name);
        match bomb.fate {
            ExpectedResult::Taken => drop(reply.expect(200)),
            ExpectedResult::TooLarge => drop(refused(reply, 413, "photo_too_large")),
            ExpectedResult::Unsupported => drop(refused(reply, 415, "unsupported_image")),
        }
    }
    upload(&identity, &ada, &png(50, 50)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_large_photos_are_all_accepted_while_other_requests_are_served() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let largest = bombs()
        .into_iter()
        .find(|bomb| bomb.name == "PNG of 4,096 x 4,096, gray")
        .unwrap();
    let mut others = Vec::new();
    for name in ["bob", "cyd", "dan"] {
        others.push(identity.register(name).await);
    }
    // Each account may upload two at once.
    let senders = others.iter().chain([&ada]).cycle();
    let uploads: Vec<_> = senders
        .take(8)
        .map(|sender| {
            let path = format!("/api/auth/user/{}/profile-photo", sender.id);
            let call = identity.api.put(&path).bearer(&sender.access);
            tokio::spawn(call.body("image/png", largest.file.clone()).send())
        })
        .collect();
    for _ in 0..5 {
        identity.validate(&ada.access).await.expect(200);
    }
    for upload in uploads {
        upload.await.unwrap().expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn phone_photos_and_webp_are_accepted_and_refusals_for_size_name_the_limit() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let without_end = jpeg(5712, 4284);
    let without_end = &without_end[..without_end.len() - 2];
    for (file, kind) in [
        (without_end, "image/jpeg"),
        (files::WEBP_LOSSY, "image/jpeg"),
        (files::WEBP_LOSSLESS, "image/jpeg"),
        (files::WEBP_ALPHA, "image/png"),
    ] {
        upload(&identity, &ada, file).await.expect(200);
        let served = served(&identity, &ada).await.expect(200);
        assert_eq!(served.header("content-type"), kind);
    }
    let body = json!({"profile_photo_url": format!("data:image/webp;base64,{}", STANDARD.encode(files::WEBP_LOSSY))});
    let call = identity.api.put(&format!("/api/auth/user/{}", ada.id));
    call.bearer(&ada.access).json(body).send().await.expect(200);
    let mut large = jpeg(16, 16);
    let frame = large
        .windows(2)
        .position(|two| two == [0xff, 0xc0])
        .unwrap();
    large[frame + 5..frame + 9].copy_from_slice(&[0x1f, 0x40, 0x1d, 0x4c]);
    let reply = refused(
        upload(&identity, &ada, &large).await,
        413,
        "photo_too_large",
    );
    assert_eq!(
        reply.json()["error_description"],
        "The photo has 60 megapixels; at most 50 are accepted"
    );
    let reply = upload(&identity, &ada, &vec![0; MOST + 1]).await;
    let reply = refused(reply, 413, "photo_too_large");
    assert_eq!(
        reply.json()["error_description"],
        "The photo has more than 5242880 bytes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_supported_image_and_empty_files_are_refused() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let half = |file: Vec<u8>| file[..file.len() / 2].to_vec();
    let files: [Vec<u8>; 9] = [
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec(),
        b"<!DOCTYPE html><script>alert(1)</script>".to_vec(),
        b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0".to_vec(),
        b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0".to_vec(),
        b"{}".to_vec(),
        b"GIF89a".to_vec(),
        half(jpeg(200, 200)),
        half(png(200, 200)),
        half(gif(200, 200, 2)),
    ];
    for file in files {
        let reply = upload(&identity, &ada, &file).await;
        refused(reply, 415, "unsupported_image");
    }
    refused(upload(&identity, &ada, b"").await, 400, "validation_failed");
    refused(served(&identity, &ada).await, 404, "photo_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_has_at_most_five_mebibytes_announced_or_not() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let padded = |size: usize| {
        let mut file = png(64, 64);
        file.resize(size, 0);
        file
    };
    upload(&identity, &ada, &padded(MOST)).await.expect(200);
    let reply = upload(&identity, &ada, &padded(MOST + 1)).await;
    refused(reply, 413, "photo_too_large");
    let path = format!("/api/auth/user/{}/profile-photo", ada.id);
    let put = |kind: &str, body: Vec<u8>| {
        let call = identity.api.put(&path).bearer(&ada.access);
        call.body(kind, body).send()
    };
    put(FORM, form(&[("photo", &padded(MOST))]))
        .await
        .expect(200);
    let large = put(FORM, form(&[("photo", &padded(MOST + 1))])).await;
    refused(large, 413, "photo_too_large");
    let elsewhere = form(&[
        ("other", &vec![b'x'; MOST + 100_000]),
        ("photo", &png(9, 9)),
    ]);
    refused(put(FORM, elsewhere).await, 413, "photo_too_large");
    // In chunks, so that the length is not announced.
    let mut request = format!(
        "PUT {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        ada.access
    )
    .into_bytes();
    let chunk = vec![b'x'; 1024 * 1024];
    for _ in 0..6 {
        request.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend(&chunk);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    let answer = raw_request(identity.running.addr(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("photo_too_large"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_uploads_the_photo_in_its_field_photo() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let path = format!("/api/auth/user/{}/profile-photo", ada.id);
    let put = |kind: &str, body: Vec<u8>| {
        let call = identity.api.put(&path).bearer(&ada.access);
        call.body(kind, body).send()
    };
    let picture = png(30, 20);
    let body = form(&[("name", b"x"), ("photo", &picture), ("after", b"y")]);
    let meta = put(FORM, body).await.expect(200).json();
    assert_eq!(meta["has_photo"], true);
    let html = form(&[("photo", b"<html>")]);
    refused(put(FORM, html).await, 415, "unsupported_image");
    let whole = form(&[("photo", &picture)]);
    let cut = whole[..whole.len() - 12].to_vec();
    for (kind, body) in [
        (FORM, form(&[("file", &picture)])),
        (FORM, form(&[])),
        (FORM, form(&[("photo", b"")])),
        (FORM, form(&[("photo", &picture), ("photo", &picture)])),
        (FORM, cut),
        (FORM, Vec::new()),
        (FORM, picture.clone()),
        ("multipart/form-data", whole.clone()),
        ("multipart/form-data; boundary=", whole.clone()),
    ] {
        refused(put(kind, body).await, 400, "validation_failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_does_not_arrive_gets_408() {
    let identity = Identity::start_with(|config| config.limits.body_seconds = 1).await;
    let ada = identity.register("ada").await;
    for kind in ["image/png", FORM] {
        let request = format!(
            "PUT /api/auth/user/{}/profile-photo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n--line\r\n",
            ada.id, ada.access
        );
        let answer = raw_request(identity.running.addr(), request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unauthorized_upload_is_refused_before_its_body_arrives() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let large = png(64, 64).repeat(20_000);
    for (id, token, status) in [(ada.id, "nonsense", 401), (4711, ada.access.as_str(), 403)] {
        for path in [
            format!("/api/auth/user/{id}/profile-photo"),
            format!("/api/auth/user/{id}"),
        ] {
            // A body of a gigabyte is announced but not sent.
            let request = format!(
                "PUT {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
                 Content-Length: 1000000000\r\n\r\n"
            );
            let answer = raw_request(identity.running.addr(), request.as_bytes()).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
            // A caller who sends a body all the same gets the response.
            let call = identity.api.put(&path).bearer(token);
            let reply = call.body("application/json", large.clone()).send().await;
            assert_eq!(reply.status, status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_photo_contains_nothing_but_its_pixels() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let script = b"<script>alert(document.domain)</script>";
    let camera = [b"Exif\0\0".to_vec(), exif(6)].concat();
    let files = [
        [jpeg(60, 40), script.to_vec()].concat(),
        [gif(60, 40, 1), script.to_vec()].concat(),
        jpeg_with_app1(60, 40, &camera),
        jpeg_with_app1(60, 40, script),
        png_with_chunks(
            &png(60, 40),
            &[png_chunk(b"tEXt", script), png_chunk(b"eXIf", &exif(6))],
        ),
    ];
    for file in files {
        assert!(contains(&file, b"<script>") || contains(&file, b"GPSLATITUDE"));
        upload(&identity, &ada, &file).await.expect(200);
        let served = served(&identity, &ada).await.expect(200);
        for gone in [b"<script>".as_slice(), b"GPSLATITUDE", b"Exif", b"eXIf"] {
            assert!(!contains(&served.body, gone));
        }
        assert!(served.header("content-type").starts_with("image/"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_declared_content_type_of_an_upload_is_ignored() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let path = format!("/api/auth/user/{}/profile-photo", ada.id);
    for kind in [
        "text/html",
        "image/svg+xml",
        "application/json",
        "image/png; x=\"",
    ] {
        let call = identity.api.put(&path).bearer(&ada.access);
        call.body(kind, gif(20, 20, 1)).send().await.expect(200);
        let served = served(&identity, &ada).await;
        assert_eq!(served.header("content-type"), "image/gif");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_rate_limited_by_account() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let mut refusals = 0;
    for _ in 0..40 {
        let reply = upload(&identity, &ada, b"GIF89a").await;
        if reply.status == 429 {
            refused(reply, 429, "rate_limited");
            refusals += 1;
        }
    }
    assert!(refusals > 0);
    upload(&identity, &bob, &png(20, 20)).await.expect(200);
}
