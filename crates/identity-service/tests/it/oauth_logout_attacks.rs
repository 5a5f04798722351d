//! Attempts to redirect to other sites, to sign somebody out against their will, and to forge hints.

use jsonwebtoken::{Algorithm, EncodingKey};
use reqwest::Method;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::forged_tokens::{changed, decoded, part, signed, stolen_key};
use crate::oauth_fixture::OAuth;
use crate::oauth_logout::{AFTER, let_in, logout, set_metadata, text};
use crate::support::{SignedIn, signed_in};

/// A browser in which Ada has signed in and let `web` in.
struct Target {
    oauth: OAuth,
    browser: Browser,
    tokens: Value,
}

impl Target {
    async fn set() -> Self {
        let oauth = OAuth::start().await;
        let addresses = json!({ "post_logout_redirect_uris": [AFTER, "http://127.0.0.1/out"] });
        set_metadata(&oauth.identity, "web", &addresses);
        let others = json!({ "post_logout_redirect_uris": ["https://native.example.com/out"] });
        set_metadata(&oauth.identity, "native", &others);
        let mut browser = oauth.browser().await;
        let tokens = let_in(&oauth, &mut browser, "web", "openid").await;
        Self {
            oauth,
            browser,
            tokens,
        }
    }

    fn hint(&self) -> &str {
        text(&self.tokens, "id_token")
    }

    fn pair(&self) -> SignedIn {
        signed_in(&self.tokens)
    }

    /// Checks that Ada and the client are still signed in.
    async fn is_untouched(&self, attack: &str) {
        let page = self.browser.clone().get("/account").await;
        assert_eq!(page.path, "/account", "{attack}");
        let reply = self.oauth.identity.validate(&self.pair().access).await;
        assert_eq!(reply.status, 200, "{attack}");
    }

    /// Sends a request from the browser. It must be refused without a redirect, and sign nobody out.
    async fn refuses(&mut self, attack: &str, parameters: &[(&str, &str)]) {
        let page = self.browser.fetch(&logout(parameters)).await;
        assert_eq!((page.reply.status, page.leads_to), (400, None), "{attack}");
        self.is_untouched(attack).await;
        // Nor does it redirect a browser that nobody is signed in with.
        let mut nobodys = Browser::new(&self.oauth.identity);
        let page = nobodys.fetch(&logout(parameters)).await;
        assert_eq!((page.reply.status, page.leads_to), (400, None), "{attack}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_never_redirects_to_an_address_that_is_not_registered() {
    let mut target = Target::set().await;
    let hint = target.hint().to_owned();
    for address in [
        "https://evil.example/",
        "https://app.example.com/out",
        "https://app.example.com/out?from=holdfast&x=1",
        "https://app.example.com/out?from=holdfast#x",
        "https://APP.example.com/out?from=holdfast",
        "https://app.example.com:443/out?from=holdfast",
        "https://app.example.com@evil.example/out?from=holdfast",
        "https://app.example.com.evil.example/out?from=holdfast",
        "https://app.example.com\\@evil.example/out?from=holdfast",
        "http://app.example.com/out?from=holdfast",
        "//evil.example/out",
        "/\\evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        // A redirect URI is not a post-logout redirect URI.
        "https://app.example.com/cb",
        // That of another client.
        "https://native.example.com/out",
        "http://127.0.0.1:51234@evil.example/out",
        "http://127.0.0.1:051234/out",
        "http://127.0.0.2/out",
        "http://localhost/out",
    ] {
        for known in [("id_token_hint", hint.as_str()), ("client_id", "web")] {
            let parameters = [known, ("post_logout_redirect_uri", address)];
            target.refuses(address, &parameters).await;
        }
    }
    let long = "x".repeat(13_000);
    for (attack, parameters) in [
        (
            "without a client",
            vec![("post_logout_redirect_uri", AFTER)],
        ),
        (
            "an unknown client",
            vec![("client_id", "nobody"), ("post_logout_redirect_uri", AFTER)],
        ),
        (
            "a repeated address",
            vec![
                ("client_id", "web"),
                ("post_logout_redirect_uri", AFTER),
                ("post_logout_redirect_uri", "https://evil.example/"),
            ],
        ),
        (
            "an oversized state",
            vec![
                ("client_id", "web"),
                ("post_logout_redirect_uri", AFTER),
                ("state", &long),
            ],
        ),
        (
            "a line break in state",
            vec![
                ("client_id", "web"),
                ("post_logout_redirect_uri", AFTER),
                ("state", "x\r\nSet-Cookie: a=b"),
            ],
        ),
    ] {
        target.refuses(attack, &parameters).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_or_foreign_hint_signs_nobody_out() {
    let mut target = Target::set().await;
    let hint = target.hint().to_owned();
    let (header, payload) = (decoded(&hint, 0), decoded(&hint, 1));
    let (_, key) = stolen_key(&target.oauth.identity);
    let secret = EncodingKey::from_secret(b"secret");
    let forged = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        signed(&header, &changed(&payload, change), &key, Algorithm::ES256)
    };
    let with_header = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        signed(&changed(&header, change), &payload, &key, Algorithm::ES256)
    };
    let parts: Vec<&str> = hint.split('.').collect();
    let none = part(&json!({ "alg": "none", "typ": "JWT", "kid": header["kid"] }));
    let hs256 = json!({ "alg": "HS256", "typ": "JWT", "kid": header["kid"] });
    let tampered = part(&changed(&payload, |it| {
        it.insert("sub".to_owned(), json!("1"));
    }));
    for (attack, token) in [
        ("no token", "x".to_owned()),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("alg none", format!("{none}.{}.", parts[1])),
        ("HS256", signed(&hs256, &payload, &secret, Algorithm::HS256)),
        (
            "other claims",
            format!("{}.{tampered}.{}", parts[0], parts[2]),
        ),
        ("an access token", target.pair().access),
        ("a refresh token", target.pair().refresh),
        (
            "a logout token",
            with_header(&|it| {
                it.insert("typ".to_owned(), json!("logout+jwt"));
            }),
        ),
        (
            "no key id",
            with_header(&|it| {
                it.remove("kid");
            }),
        ),
        (
            "another issuer",
            forged(&|it| {
                it.insert("iss".to_owned(), json!("https://other.example"));
            }),
        ),
        (
            "no audience",
            forged(&|it| {
                it.remove("aud");
            }),
        ),
        (
            "an unknown audience",
            forged(&|it| {
                it.insert("aud".to_owned(), json!("nobody"));
            }),
        ),
        (
            "a name as the subject",
            forged(&|it| {
                it.insert("sub".to_owned(), json!("ada"));
            }),
        ),
        ("a huge token", "x".repeat(9_000)),
    ] {
        target.refuses(attack, &[("id_token_hint", &token)]).await;
    }
    let other_client = [("id_token_hint", hint.as_str()), ("client_id", "native")];
    target.refuses("another client", &other_client).await;
    let twice = [("id_token_hint", hint.as_str()), ("id_token_hint", "x")];
    target.refuses("a repeated hint", &twice).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_with_an_unknown_key_is_ignored_unless_it_contradicts_the_request() {
    let mut target = Target::set().await;
    let (header, payload) = (decoded(target.hint(), 0), decoded(target.hint(), 1));
    let header = changed(&header, |it| {
        it.insert("kid".to_owned(), json!("unknown"));
    });
    let (_, key) = stolen_key(&target.oauth.identity);
    let with = |name: &str, value: Value| {
        let claims = changed(&payload, |it| {
            it.insert(name.to_owned(), value);
        });
        signed(&header, &claims, &key, Algorithm::ES256)
    };
    let hint = signed(&header, &payload, &key, Algorithm::ES256);
    let hint = ("id_token_hint", hint.as_str());
    let (client, address) = (("client_id", "web"), ("post_logout_redirect_uri", AFTER));
    for (parameters, names_client, leads_to) in [
        (vec![hint], false, None),
        (vec![hint, address], false, None),
        (vec![hint, client], true, None),
        (vec![hint, client, address], true, Some(AFTER)),
    ] {
        let mut browser = target.oauth.browser().await;
        let page = browser.fetch(&logout(&parameters)).await.expect(200);
        let named = page.text().contains("asks to sign you out");
        assert_eq!(named, names_client, "{parameters:?}");
        let form = page.form("/logout/confirm").set("decision", "sign_out");
        let page = browser.submit(form).await;
        assert_eq!(page.leads_to.as_deref(), leads_to, "{parameters:?}");
        assert_ne!(browser.get("/account").await.path, "/account");
        // The session that it names is not ended.
        target.is_untouched("a hint with an unknown key").await;
        let mut nobodys = Browser::new(&target.oauth.identity);
        let page = nobodys.get(&logout(&parameters)).await;
        assert_eq!(page.leads_to.as_deref(), leads_to, "{parameters:?}");
    }
    let other = with("iss", json!("https://other.example"));
    target
        .refuses("another issuer", &[("id_token_hint", &other)])
        .await;
    let other = with("aud", json!("native"));
    target
        .refuses("another client", &[("id_token_hint", &other), client])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_sign_anybody_out() {
    let target = Target::set().await;
    // A link or an image: the question is shown, and nothing ends.
    let requests: [&[(&str, &str)]; 3] = [&[], &[("client_id", "web")], &[("state", "x")]];
    for parameters in requests {
        let page = target.browser.clone().get(&logout(parameters)).await;
        page.expect(200).form("/logout/confirm");
        target.is_untouched("a link").await;
    }
    // The answer is accepted only from the page that asked, in this browser.
    let asked = target.browser.clone().get(&logout(&[])).await;
    let form = asked.form("/logout/confirm").set("decision", "sign_out");
    let mut browser = target.browser.clone();
    for site in ["cross-site", "same-site"] {
        browser.post_from(site, form.clone()).await.expect(403);
        target.is_untouched(site).await;
    }
    for csrf in ["", "x"] {
        let page = browser.post(form.clone().forged("csrf", csrf)).await;
        page.expect(403);
        target.is_untouched("a form without its token").await;
    }
    let mut other = target.oauth.browser().await;
    other.post(form.clone()).await.expect(403);
    assert_eq!(other.get("/account").await.path, "/account");
    // The page cannot be framed.
    assert_eq!(asked.reply.header("x-frame-options"), "DENY");
    // A program that only looks ends nothing, even with the hint.
    let path = logout(&[("id_token_hint", target.hint())]);
    let cookies = target.browser.cookies.iter();
    let cookies: Vec<String> = cookies.map(|(k, v)| format!("{k}={v}")).collect();
    let head = target.oauth.identity.api.call(Method::HEAD, &path);
    let head = head.header("cookie", cookies.join("; "));
    head.send().await.expect(200);
    target.is_untouched("HEAD").await;
    // A bearer token is not the sign-in of a browser.
    let call = target.oauth.identity.api.get(&path);
    let reply = call.bearer(&target.oauth.ada.access).send().await;
    assert!(reply.expect(200).text().contains("not signed in"));
    target.is_untouched("a bearer token").await;
}
