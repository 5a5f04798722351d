//! Helpers that the tests of passwords, addresses and second factors share.

use chrono::Duration;
use event_types::MailTemplate;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::support::{Identity, PASSWORD, SignedIn, signed_in, texts};

/// Another valid password.
pub(crate) const OTHER: &str = "battery staple";

impl Identity {
    /// Registers an account with an unverified address.
    pub(crate) async fn register_at(&self, username: &str, email: &str) -> SignedIn {
        let body = json!({ "username": username, "password": PASSWORD, "email": email });
        let reply = self.open("/api/auth/register", body).await;
        signed_in(&reply.expect(201).json())
    }

    /// Registers an account and verifies its address. The verification mail is the account's first.
    pub(crate) async fn register_verified(&self, username: &str, email: &str) -> SignedIn {
        let user = self.register_at(username, email).await;
        let token = self.last_link("verify_email");
        self.verify_email(&token).await.expect(204);
        user
    }

    pub(crate) async fn verify_email(&self, token: &str) -> ApiResponse {
        self.open("/api/auth/email/verify", json!({ "token": token }))
            .await
    }

    pub(crate) async fn reset(&self, token: &str, new_password: &str) -> ApiResponse {
        let body = json!({ "token": token, "new_password": new_password });
        self.open("/api/auth/password/reset", body).await
    }

    pub(crate) async fn forgot(&self, body: Value) -> ApiResponse {
        self.open("/api/auth/password/forgot", body).await
    }

    /// Sends a POST request without a token.
    pub(crate) async fn open(&self, path: &str, body: Value) -> ApiResponse {
        self.tick();
        self.api.post(path).json(body).send().await
    }

    /// Sends a POST request with the token of an account.
    pub(crate) async fn by(&self, user: &SignedIn, path: &str, body: Value) -> ApiResponse {
        self.tick();
        let call = self.api.post(path).bearer(&user.access).json(body);
        call.send().await
    }

    pub(crate) async fn change_password(
        &self,
        user: &SignedIn,
        from: &str,
        to: &str,
    ) -> ApiResponse {
        let body = json!({ "current_password": from, "new_password": to });
        self.by(user, "/api/auth/password/change", body).await
    }

    /// Advances the clock a little, because mails are told apart and ordered by the time they were written.
    fn tick(&self) {
        self.hand.advance(Duration::milliseconds(1));
    }

    /// Returns the account as its owner sees it.
    pub(crate) async fn me(&self, user: &SignedIn) -> Value {
        let call = self.api.get("/api/auth/me").bearer(&user.access);
        call.send().await.expect(200).json()["user"].clone()
    }

    /// Returns the token of the newest mailed link of this kind.
    pub(crate) fn last_link(&self, template: &str) -> String {
        let link = self.mails().into_iter().rev().find_map(|mail| {
            (mail.text.template() == template).then(|| match mail.text {
                MailTemplate::VerifyEmail { link, .. }
                | MailTemplate::ResetPassword { link, .. } => link,
                other => panic!("{} has no link", other.template()),
            })
        });
        let link = link.unwrap_or_else(|| panic!("no {template} was mailed"));
        link.rsplit_once('/').unwrap().1.to_owned()
    }

    /// Returns the recipients of the mails of this kind, oldest first.
    pub(crate) fn mailed(&self, template: &str) -> Vec<String> {
        let mails = self.mails().into_iter();
        mails
            .filter(|mail| mail.text.template() == template)
            .map(|mail| mail.to)
            .collect()
    }

    /// Returns the changes that the security mails report, oldest first.
    pub(crate) fn told(&self) -> Vec<String> {
        let mails = self.mails().into_iter();
        mails
            .filter_map(|mail| match mail.text {
                MailTemplate::SecurityChanged { what, .. } => Some(what),
                _ => None,
            })
            .collect()
    }

    /// Counts the audit entries with this action about this account.
    pub(crate) fn audited(&self, action: &str, user: &SignedIn) -> i64 {
        let id = user.id;
        self.count(&format!(
            "SELECT count(*) AS n FROM audit_log WHERE action = '{action}' AND user_id = {id}"
        ))
    }

    /// Returns the details of all audit entries.
    pub(crate) fn audit_details(&self) -> String {
        let query = "SELECT details AS t FROM audit_log WHERE details IS NOT NULL ORDER BY id";
        texts(&self.db.pool(1), query).join("\n")
    }
}
