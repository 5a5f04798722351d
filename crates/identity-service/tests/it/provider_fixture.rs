//! OAuth clients and their tokens.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use test_kit::{ApiRequest, ApiResponse};

use crate::admin_api::superadmin;
use crate::forged_tokens::{changed, decoded, signed, stolen_key};
use crate::support::{Identity, PASSWORD, SignedIn, signed_in};

/// A registered client.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) id: String,
    /// Empty for a public client.
    pub(crate) secret: String,
}

/// An identity service with a superadmin.
pub(crate) struct Provider {
    pub(crate) identity: Identity,
    pub(crate) admin: SignedIn,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut identity_service::Config)) -> Self {
        let identity = Identity::start_with(change).await;
        let admin = superadmin(&identity, "root").await;
        Self { identity, admin }
    }

    pub(crate) async fn try_register(&self, body: Value) -> ApiResponse {
        let call = self.identity.api.post("/api/admin/oauth-clients");
        call.bearer(&self.admin.access).json(body).send().await
    }

    pub(crate) async fn register(&self, body: Value) -> Registered {
        let body = self.try_register(body).await.expect(201).json();
        Registered {
            id: body["client_id"].as_str().unwrap().to_owned(),
            secret: body["client_secret"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        }
    }

    pub(crate) async fn confidential(&self) -> Registered {
        self.register(json!({ "name": "App" })).await
    }

    pub(crate) async fn public(&self) -> Registered {
        self.register(json!({ "name": "Desktop", "is_public": true }))
            .await
    }

    pub(crate) async fn administer(&self, method: reqwest::Method, path: &str) -> ApiResponse {
        let path = format!("/api/admin/oauth-clients{path}");
        let call = self.identity.api.call(method, &path);
        call.bearer(&self.admin.access).send().await
    }

    /// Signs an account in, and gives the session to a client as the token endpoint does.
    pub(crate) async fn given(&self, username: &str, client: &Registered, scope: &str) -> SignedIn {
        let own = self.identity.login(username, PASSWORD).await.expect(200);
        self.give(&signed_in(&own.json()), client, scope)
    }

    /// Turns a first-party session into a client's session.
    pub(crate) fn give(&self, own: &SignedIn, client: &Registered, scope: &str) -> SignedIn {
        let claims = decoded(&own.access, 1);
        self.identity.sql(&format!(
            "UPDATE sessions SET kind = 'client', client_id = '{}', scope = '{scope}' WHERE id = '{}'",
            client.id,
            claims["sid"].as_str().unwrap()
        ));
        let claims = changed(&claims, |claims| {
            claims.insert("client_id".to_owned(), json!(client.id));
            claims.insert("scope".to_owned(), json!(scope));
        });
        let (_, key) = stolen_key(&self.identity);
        SignedIn {
            access: signed(&decoded(&own.access, 0), &claims, &key, Algorithm::ES256),
            ..own.clone()
        }
    }

    /// Builds a request that the client authenticates: in the header, or by its id in the form if it is public.
    pub(crate) fn ask(
        &self,
        client: &Registered,
        path: &str,
        fields: &[(&str, &str)],
    ) -> ApiRequest {
        let call = form(&self.identity, path, fields);
        match client.secret.is_empty() {
            false => call.header("authorization", basic(&client.id, &client.secret)),
            true => {
                let mut fields = fields.to_vec();
                fields.push(("client_id", &client.id));
                form(&self.identity, path, &fields)
            }
        }
    }

    pub(crate) async fn introspect(&self, client: &Registered, token: &str) -> Value {
        let call = self.ask(client, "/api/oauth/introspect", &[("token", token)]);
        call.send().await.expect(200).json()
    }

    pub(crate) async fn revoke(&self, client: &Registered, token: &str) -> ApiResponse {
        let call = self.ask(client, "/api/oauth/revoke", &[("token", token)]);
        call.send().await
    }
}

/// Builds a POST request with a form.
pub(crate) fn form(identity: &Identity, path: &str, fields: &[(&str, &str)]) -> ApiRequest {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let call = identity.api.post(path);
    call.body("application/x-www-form-urlencoded", body)
}

/// Returns a `Basic` header for an id and secret that need no encoding.
pub(crate) fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}
