use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use service_kit::crypto::sha256;
use test_kit::ApiResponse;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::browser::{Browser, Page};
use crate::support::{Identity, SignedIn};

pub(crate) const CALLBACK: &str = "https://app.example.com/cb";
pub(crate) const SECRET: &str = "a secret of the client";
/// The example of RFC 7636 appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// An identity service with an account and three clients: `web` is confidential, `native` is public, `own` is public
/// and first-party.
pub(crate) struct OAuth {
    pub(crate) identity: Identity,
    pub(crate) ada: SignedIn,
}

impl OAuth {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut identity_service::Config)) -> Self {
        let identity = Identity::start_with(change).await;
        let ada = identity.register("ada").await;
        let oauth = Self { identity, ada };
        oauth.add_client("web", Some(SECRET), false);
        oauth.add_client("native", None, false);
        oauth.add_client("own", None, true);
        oauth
    }

    /// Registers a client with [`CALLBACK`] and the scopes `openid profile email teams`.
    pub(crate) fn add_client(&self, id: &str, secret: Option<&str>, is_first_party: bool) {
        let hash = match secret {
            Some(secret) => format!("'{}'", URL_SAFE_NO_PAD.encode(sha256(secret.as_bytes()))),
            None => "NULL".to_owned(),
        };
        let uris = format!("[\"{CALLBACK}\",\"http://127.0.0.1/cb\"]");
        self.identity.sql(&format!(
            "INSERT INTO oauth_clients (id, name, secret_hash, redirect_uris, scope, is_first_party, may_introspect_any, \
             id_token_alg, is_configured, created_at, updated_at) VALUES ('{id}', 'The {id} <app>', {hash}, '{uris}', \
             'openid profile email teams', {is_first_party}, false, 'ES256', false, '2026-11-21 12:00:00', '2026-11-21 12:00:00')"
        ));
    }

    /// Restricts a client to these grant types. Before, it has all of them.
    pub(crate) fn set_grant_types(&self, id: &str, grant_types: &str) {
        self.identity.sql(&format!(
            "UPDATE oauth_clients SET grant_types = '{grant_types}' WHERE id = '{id}'"
        ));
    }

    /// Returns the path of a valid authorization request of `client` with some parameters replaced; `None` omits one.
    pub(crate) fn request(client: &str, changes: &[(&str, Option<&str>)]) -> String {
        let mut parameters = vec![
            ("client_id", client),
            ("redirect_uri", CALLBACK),
            ("response_type", "code"),
            ("scope", "openid profile"),
            ("state", "s +&/ü"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in changes {
            parameters.retain(|(known, _)| known != name);
            parameters.extend(value.map(|value| (*name, value)));
        }
        let query = Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        format!("/api/oauth/authorize?{query}")
    }

    /// Sends a request with this access token.
    pub(crate) async fn authorize(&self, path: &str, token: &str) -> ApiResponse {
        self.identity.api.get(path).bearer(token).send().await
    }

    /// Opens an SSO session of Ada's for this site, and returns its token.
    pub(crate) async fn handed_over(&self, site: &str) -> String {
        let path = format!("/api/auth/sso/authorize?redirect_uri={site}");
        let reply = self.authorize(&path, &self.ada.access).await.expect(302);
        answer(reply.header("location"))["token"].clone()
    }

    /// Returns a code for a client, authorized with Ada's access token.
    pub(crate) async fn code(&self, client: &str, changes: &[(&str, Option<&str>)]) -> String {
        let path = Self::request(client, changes);
        let reply = self.authorize(&path, &self.ada.access).await.expect(302);
        answer(reply.header("location"))["code"].clone()
    }

    /// Calls the token endpoint, with Basic authentication if there is a secret.
    pub(crate) async fn token(
        &self,
        (client, secret): (&str, Option<&str>),
        form: &[(&str, &str)],
    ) -> ApiResponse {
        self.post("/api/oauth/token", (client, secret), form).await
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        (client, secret): (&str, Option<&str>),
        form: &[(&str, &str)],
    ) -> ApiResponse {
        let mut form = form.to_vec();
        let mut call = self.identity.api.post(path);
        match secret {
            Some(secret) => {
                let secret: String = Serializer::new(String::new())
                    .append_key_only(secret)
                    .finish();
                let basic = STANDARD.encode(format!("{client}:{secret}"));
                call = call.header("authorization", format!("Basic {basic}"));
            }
            None => form.push(("client_id", client)),
        }
        let body = Serializer::new(String::new()).extend_pairs(form).finish();
        call.body("application/x-www-form-urlencoded", body)
            .send()
            .await
    }

    /// Redeems a code of a request that [`OAuth::request`] made.
    pub(crate) async fn redeem(&self, client: &str, code: &str) -> ApiResponse {
        let secret = (client == "web").then_some(SECRET);
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        self.token((client, secret), &form).await
    }

    /// Returns the tokens of a client for Ada's account.
    pub(crate) async fn tokens(&self, client: &str, scope: &str) -> Value {
        let code = self.code(client, &[("scope", Some(scope))]).await;
        self.redeem(client, &code).await.expect(200).json()
    }

    pub(crate) async fn refresh(
        &self,
        client: &str,
        token: &str,
        scope: Option<&str>,
    ) -> ApiResponse {
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        form.extend(scope.map(|scope| ("scope", scope)));
        let secret = (client == "web").then_some(SECRET);
        self.token((client, secret), &form).await
    }

    /// Returns a browser in which Ada has signed in.
    pub(crate) async fn browser(&self) -> Browser {
        Browser::signed_in(&self.identity, "ada").await
    }

    /// Counts the audit entries with this action.
    pub(crate) fn audited(&self, action: &str) -> i64 {
        self.identity.count(&format!(
            "SELECT count(*) AS n FROM audit_log WHERE action = '{action}'"
        ))
    }
}

/// Returns the query parameters of a redirect, each of which must occur once.
pub(crate) fn answer(address: &str) -> BTreeMap<String, String> {
    let url = Url::parse(address).unwrap();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let answer: BTreeMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(answer.len(), pairs.len(), "{address}");
    answer
}

/// Returns the query parameters with which a page redirects to [`CALLBACK`].
#[track_caller]
pub(crate) fn brought(page: &Page) -> BTreeMap<String, String> {
    let address = page.leads_to.as_deref().unwrap_or_default();
    assert!(
        address.starts_with(&format!("{CALLBACK}?")),
        "{}: {}",
        page.path,
        page.text()
    );
    answer(address)
}

/// Returns the claims of a JWT without checking its signature.
pub(crate) fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}
