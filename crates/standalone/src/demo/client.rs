use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::{DemoCredentials, DemoError};

/// A client like a desktop program.
pub(super) struct Client {
    http: reqwest::Client,
    identity: String,
    worksession: String,
    access: String,
    refresh: String,
}

impl Client {
    pub(super) fn new(identity: SocketAddr, worksession: SocketAddr) -> Result<Self, DemoError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "calls only what this process has started"
        )]
        let builder = reqwest::Client::builder();
        Ok(Self {
            http: builder
                .tls_backend_preconfigured(service_kit::tls::client_config())
                .no_proxy()
                .timeout(Duration::from_secs(30))
                .build()?,
            identity: format!("http://{identity}"),
            worksession: format!("http://{worksession}"),
            access: String::new(),
            refresh: String::new(),
        })
    }

    /// Registers the account and signs in. Returns false if the name is taken.
    pub(super) async fn register(&mut self, sign_in: &DemoCredentials) -> Result<bool, DemoError> {
        let body = json!({"username": sign_in.username, "password": sign_in.password});
        match self.identity("/api/auth/register", body).await {
            Ok(tokens) => self.keep(&tokens).map(|()| true),
            Err(DemoError::Refused { body, .. }) if body.contains("username_taken") => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn refresh(&mut self) -> Result<(), DemoError> {
        let body = json!({"refresh_token": self.refresh});
        let tokens = self.identity("/api/auth/refresh", body).await?;
        self.keep(&tokens)
    }

    pub(super) async fn identity(&self, path: &str, body: Value) -> Result<Value, DemoError> {
        self.post(&self.identity, path, body).await
    }

    pub(super) async fn worksession(&self, path: &str, body: Value) -> Result<Value, DemoError> {
        self.post(&self.worksession, path, body).await
    }

    async fn post(&self, base: &str, path: &str, body: Value) -> Result<Value, DemoError> {
        let mut request = self.http.post(format!("{base}{path}")).json(&body);
        if !self.access.is_empty() {
            request = request.bearer_auth(&self.access);
        }
        let answer = request.send().await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.json().await?);
        }
        let (call, body) = (format!("POST {path}"), answer.text().await?);
        Err(DemoError::Refused {
            call,
            status: status.as_u16(),
            body,
        })
    }

    fn keep(&mut self, tokens: &Value) -> Result<(), DemoError> {
        let text = |name| tokens.get(name).and_then(Value::as_str).map(str::to_owned);
        self.access = text("access_token").ok_or(DemoError::Missing("access token"))?;
        self.refresh = text("refresh_token").ok_or(DemoError::Missing("refresh token"))?;
        Ok(())
    }
}
