//! Both services below paths of one host, behind proxies that strip the paths and proxies that keep them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_kit::ApiResponse;
use url::Url;

use crate::dashboard::browser::{Browser, Page};
use crate::harness::{Options, System};
use crate::html_parser::all_elements;

const IDENTITY: &str = "https://example.com/auth";
const WORK: &str = "https://example.com/work";
const SECRET: &str = "a-secret-of-at-least-32-characters";
/// RFC 7636 appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

async fn system() -> System {
    System::with(Options {
        identity: json!({
            "base_url": format!("{IDENTITY}/"),
            "sso": {"allowed_origins": "https://app.example.com"},
            "oauth_clients": [
                {"client_id": "dashboard", "name": "Dashboard", "client_secret": SECRET,
                 "redirect_uris": [format!("{WORK}/sign-in/callback")], "first_party": true},
                {"client_id": "app", "name": "App", "client_secret": SECRET,
                 "redirect_uris": ["https://app.example.com/cb"], "scope": ["openid", "profile"]},
            ],
        }),
        worksession: json!({
            "base_url": WORK,
            "identity_public_url": IDENTITY,
            "dashboard": {"client_id": "dashboard", "client_secret": SECRET},
        }),
        ..Options::default()
    })
    .await
}

fn browser(system: &System, strips: bool) -> Browser {
    Browser::behind_proxy(system, [WORK, IDENTITY], strips)
}

/// Returns the path of the service at a public address.
fn base_of(address: &Url) -> &'static str {
    match address.path().starts_with("/work") {
        true => "/work",
        false => "/auth",
    }
}

/// Returns where the page's links, forms and files lead and which to follow; checks that each is below its service's path.
fn addresses(page: &Page) -> Vec<(Url, bool)> {
    let base = base_of(&page.address);
    let mut found = Vec::new();
    for element in all_elements(&page.html) {
        for (name, value) in element.attributes() {
            let is_address = matches!(name, "href" | "src" | "action" | "data-clock" | "data-path");
            if !is_address || value.starts_with(['#', '?']) || value == "data:," {
                continue;
            }
            let is_below = value
                .strip_prefix(base)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let is_relative = !value.starts_with('/') && !value.contains(':');
            let is_elsewhere = value.starts_with("https://");
            assert!(
                is_below || is_relative || is_elsewhere,
                "{}: {name}={value}",
                page.address
            );
            let address = page.address.join(&value.replace("&#38;", "&")).unwrap();
            if address.host_str() == Some("example.com") {
                let is_file = matches!(name, "src" | "data-clock") || element.name == "link";
                let is_picture = value.ends_with(".png");
                let is_link = (element.name == "a" || is_file) && !is_picture;
                found.push((address, is_link));
            }
        }
    }
    found
}

/// Opens pages and everything that their links lead to; returns the paths.
async fn crawl(browser: &mut Browser, start: &[&str]) -> BTreeSet<String> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut next: Vec<String> = start.iter().map(|place| (*place).to_owned()).collect();
    while let Some(place) = next.pop() {
        // One page of each list is enough.
        let path = place.split(['?', '#']).next().unwrap();
        if !known.insert(path.to_owned()) {
            continue;
        }
        let page = browser.get(&place).await;
        assert!(
            page.reply.status < 400,
            "{place}: {} {}",
            page.reply.status,
            page.text()
        );
        if page.reply.header("content-type").starts_with("text/html") {
            let links = addresses(&page).into_iter().filter(|(_, is_link)| *is_link);
            next.extend(links.map(|(address, _)| address.to_string()));
        }
    }
    known
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_below_the_path_whether_a_proxy_strips_it_or_not() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "crew").await;
    system.started(&ada, &team.project_id()).await;
    let mut seen = Vec::new();
    for strips in [true, false] {
        let mut nobody = browser(&system, strips);
        let login = format!("{IDENTITY}/login");
        let reset = format!("{IDENTITY}/forgot-password");
        let known = crawl(
            &mut nobody,
            &[WORK, "/", &login, &reset, &format!("{IDENTITY}/docs/")],
        )
        .await;
        assert!(known.len() > 6, "{known:?}");
        let mut ada = browser(&system, strips);
        let page = ada.sign_in("ada").await;
        assert_eq!(page.address.as_str(), "https://example.com/work/");
        let known = crawl(
            &mut ada,
            &["/", IDENTITY, &format!("{IDENTITY}/account"), "/docs/"],
        )
        .await;
        for page in [
            "/work/team",
            "/work/settings",
            "/auth/teams/crew/settings",
            "/auth/account/profile",
        ] {
            let page = format!("https://example.com{page}");
            assert!(known.contains(&page), "{page}: {known:?}");
        }
        seen.push(known.len());
    }
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0] > 40, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_limited_to_the_path_and_forms_and_errors_work_below_it() {
    let system = system().await;
    system.register_user("ada").await;
    for strips in [true, false] {
        let mut ada = browser(&system, strips);
        ada.sign_in("ada").await;
        let names: Vec<_> = ada.cookies.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "__Secure-holdfast_forms",
                "__Secure-holdfast_id",
                "__Secure-holdfast_ws",
                "__Secure-holdfast_ws_browser",
            ]
        );
        let page = ada.get("/").await;
        let form = page.form("/work/start").set("category", "coding");
        let reply = ada.post(&page, &form).await.expect(303);
        assert_eq!(reply.header("location"), "/work/?done=started");
        let page = ada.get(&format!("{IDENTITY}/account/profile")).await;
        let form = page.form("/auth/account/profile").set("bio", "/x");
        let page = ada.submit(&page, form).await.expect(200);
        assert_eq!(page.form("/auth/account/profile").value("bio"), "/x");
        // A form that outlives the session leads to the sign-in and back.
        let form = page.form("/auth/account/profile");
        let page = ada.submit(&page, page.form("/auth/logout")).await;
        let page = ada.submit(&page, form).await.expect(200);
        let login = page.form("/auth/login").set("username", "ada");
        let page = ada
            .submit(&page, login.set("password", crate::harness::PASSWORD))
            .await;
        assert_eq!(page.address.path(), "/auth/resume");
        page.form("/auth/account/profile");

        let page = ada.get("/nonsense").await.expect(404);
        addresses(&page);
        for (place, led) in [
            (
                &*format!("{IDENTITY}/login?return_to=/teams"),
                "/auth/teams",
            ),
            // As typed by a user who sees the address of the page.
            (
                &*format!("{IDENTITY}/login?return_to=/auth/teams"),
                "/auth/teams",
            ),
            (IDENTITY, "/auth/account"),
        ] {
            assert_eq!(ada.get(place).await.address.path(), led, "{place}");
        }
    }
    let reply = system.work.get("/sign-in?here=1").send().await.expect(302);
    let cookie = reply.header("set-cookie");
    assert!(cookie.contains("; Secure; Path=/work;"), "{cookie}");
    let reply = system.identity.get("/auth/login").send().await.expect(200);
    let cookie = reply.header("set-cookie");
    assert!(cookie.ends_with("; Secure; Path=/auth"), "{cookie}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_from_the_issuer_to_the_tokens_below_the_path() {
    let system = system().await;
    system.register_user("ada").await;
    let json = async |path: &str| -> Value {
        let reply: ApiResponse = system.identity.get(path).send().await.expect(200);
        reply.json()
    };
    let metadata = json("/.well-known/openid-configuration").await;
    for path in [
        "/auth/.well-known/openid-configuration",
        "/auth/.well-known/oauth-authorization-server",
        // RFC 8414 section 3 appends the path of the issuer.
        "/.well-known/oauth-authorization-server/auth",
        "/.well-known/openid-configuration/auth",
    ] {
        assert_eq!(json(path).await, metadata, "{path}");
    }
    assert_eq!(metadata["issuer"], IDENTITY);
    for (name, value) in metadata.as_object().unwrap() {
        if name.ends_with("_endpoint") || name.ends_with("_uri") {
            let address = value.as_str().unwrap();
            let path = address.strip_prefix("https://example.com").unwrap();
            assert!(path.starts_with("/auth/"), "{name}: {address}");
        }
    }
    assert!(json("/auth/.well-known/jwks.json").await["keys"].is_array());

    for strips in [true, false] {
        let mut ada = browser(&system, strips);
        let authorize = metadata["authorization_endpoint"].as_str().unwrap();
        let query = format!(
            "client_id=app&response_type=code&redirect_uri=https://app.example.com/cb&scope=openid&prompt=consent\
             &code_challenge={CHALLENGE}&code_challenge_method=S256"
        );
        let page = ada.get(&format!("{authorize}?{query}")).await.expect(200);
        let form = page.form("/auth/login").set("username", "ada");
        let page = ada
            .submit(&page, form.set("password", crate::harness::PASSWORD))
            .await;
        let mut form = page.form("/auth/consent");
        form.fields
            .push(("decision".to_owned(), "allow".to_owned()));
        let reply = ada.post(&page, &form).await.expect(303);
        let landed: Url = reply.header("location").parse().unwrap();
        let parameter = |name: &str| {
            let mut pairs = landed.query_pairs();
            pairs
                .find(|(known, _)| known == name)
                .unwrap()
                .1
                .into_owned()
        };
        assert_eq!(parameter("iss"), IDENTITY);
        let body = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", &parameter("code"))
            .append_pair("redirect_uri", "https://app.example.com/cb")
            .append_pair("client_id", "app")
            .append_pair("client_secret", SECRET)
            .append_pair("code_verifier", VERIFIER)
            .finish();
        let path = if strips {
            "/api/oauth/token"
        } else {
            "/auth/api/oauth/token"
        };
        let call = system.identity.post(path);
        let call = call.body("application/x-www-form-urlencoded", body);
        let tokens = call.send().await.expect(200).json();
        let bearer = tokens["access_token"].as_str().unwrap();
        let info = system
            .identity
            .get("/auth/api/oauth/userinfo")
            .bearer(bearer);
        info.send().await.expect(200);
        let sso =
            format!("{IDENTITY}/api/auth/sso/authorize?redirect_uri=https://app.example.com/");
        let path = &sso[if strips {
            IDENTITY.len()
        } else {
            "https://example.com".len()
        }..];
        let reply = ada.send(system.identity.get(path)).await.expect(302);
        assert!(
            reply
                .header("location")
                .starts_with("https://app.example.com/?")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_photos_openapi_documents_and_live_events_use_the_path() {
    let system = system().await;
    let ada = system.register_user("ada").await;
    let body = json!({"username": "bob", "email": "bob@example.com", "password": crate::harness::PASSWORD});
    let call = system.identity.post("/auth/api/auth/register").json(body);
    call.send().await.expect(201);
    let mail = system.mail("bob@example.com", "verify").await;
    assert!(
        mail.contains(&format!("{IDENTITY}/verify-email/")),
        "{mail}"
    );
    let path = format!("/api/auth/user/{}/profile-photo", ada.id);
    let photo = system.identity.put(&path).bearer(&ada.token);
    let photo = photo.body("image/png", test_kit::images::png(8, 8));
    let meta = photo.send().await.expect(200).json();
    let url = meta["profile_photo_url"].as_str().unwrap();
    let path = url.strip_prefix("https://example.com").unwrap();
    assert!(path.starts_with("/auth/api/public/"), "{url}");
    system.identity.get(path).send().await.expect(200);
    for (api, base, public) in [
        (&system.identity, "/auth", IDENTITY),
        (&system.work, "/work", WORK),
    ] {
        let description = api.get(&format!("{base}/openapi.json")).send().await;
        assert_eq!(
            description.expect(200).json()["servers"],
            json!([{"url": public}])
        );
        let docs = api
            .get(&format!("{base}/docs/swagger-initializer.js"))
            .send()
            .await;
        assert!(docs.expect(200).text().contains("\"../openapi.json\""));
        let docs = api.get("/docs").send().await;
        assert_eq!(docs.header("location"), format!("{base}/docs/"));
        api.get(&format!("{base}/health/live"))
            .send()
            .await
            .expect(200);
        api.get("/health/live").send().await.expect(200);
    }
    let mut browser = browser(&system, true);
    browser.sign_in("ada").await;
    browser.fetch("/work/live").await.expect(400);
}
