//! What tests of passwords, addresses and second factors share.

use chrono::Duration;
use event_types::MailText;
use serde_json::{Value, json};
use test_kit::Reply;

use crate::support::{Identity, PASSWORD, SignedIn, signed_in, texts};

/// Another good password.
pub(crate) const OTHER: &str = "battery staple";

impl Identity {
    /// Registers with an address that is not proved.
    pub(crate) async fn register_at(&self, username: &str, email: &str) -> SignedIn {
        let body = json!({ "username": username, "password": PASSWORD, "email": email });
        let reply = self.open("/api/auth/register", body).await;
        signed_in(&reply.expect(201).json())
    }

    /// Registers with an address and proves it. The mail about that is the account's first.
    pub(crate) async fn register_verified(&self, username: &str, email: &str) -> SignedIn {
        let user = self.register_at(username, email).await;
        let token = self.last_link("verify_email");
        self.verify_email(&token).await.expect(204);
        user
    }

    pub(crate) async fn verify_email(&self, token: &str) -> Reply {
        self.open("/api/auth/email/verify", json!({ "token": token }))
            .await
    }

    pub(crate) async fn reset(&self, token: &str, new_password: &str) -> Reply {
        let body = json!({ "token": token, "new_password": new_password });
        self.open("/api/auth/password/reset", body).await
    }

    pub(crate) async fn forgot(&self, body: Value) -> Reply {
        self.open("/api/auth/password/forgot", body).await
    }

    /// A POST by nobody in particular.
    pub(crate) async fn open(&self, path: &str, body: Value) -> Reply {
        self.tick();
        self.api.post(path).json(body).send().await
    }

    /// A POST by somebody who is signed in.
    pub(crate) async fn by(&self, user: &SignedIn, path: &str, body: Value) -> Reply {
        self.tick();
        let call = self.api.post(path).bearer(&user.access).json(body);
        call.send().await
    }

    pub(crate) async fn change_password(&self, user: &SignedIn, from: &str, to: &str) -> Reply {
        let body = json!({ "current_password": from, "new_password": to });
        self.by(user, "/api/auth/password/change", body).await
    }

    /// Lets a moment go by: mails are told apart, and put in order, by the time they were written.
    fn tick(&self) {
        self.hand.advance(Duration::milliseconds(1));
    }

    /// The account as its owner sees it.
    pub(crate) async fn me(&self, user: &SignedIn) -> Value {
        let call = self.api.get("/api/auth/me").bearer(&user.access);
        call.send().await.expect(200).json()["user"].clone()
    }

    /// The token of the newest link of this kind that was mailed.
    pub(crate) fn last_link(&self, template: &str) -> String {
        let link = self.mails().into_iter().rev().find_map(|mail| {
            (mail.text.template() == template).then(|| match mail.text {
                MailText::VerifyEmail { link, .. } | MailText::ResetPassword { link, .. } => link,
                other => panic!("{} has no link", other.template()),
            })
        });
        let link = link.unwrap_or_else(|| panic!("no {template} was mailed"));
        link.rsplit_once('/').unwrap().1.to_owned()
    }

    /// Whom mails of this kind went to, oldest first.
    pub(crate) fn mailed(&self, template: &str) -> Vec<String> {
        let mails = self.mails().into_iter();
        mails
            .filter(|mail| mail.text.template() == template)
            .map(|mail| mail.to)
            .collect()
    }

    /// What the mails about changed security say was changed, oldest first.
    pub(crate) fn told(&self) -> Vec<String> {
        let mails = self.mails().into_iter();
        mails
            .filter_map(|mail| match mail.text {
                MailText::SecurityChanged { what, .. } => Some(what),
                _ => None,
            })
            .collect()
    }

    /// How often the audit log has this action about this account.
    pub(crate) fn audited(&self, action: &str, user: &SignedIn) -> i64 {
        let id = user.id;
        self.count(&format!(
            "SELECT count(*) AS n FROM audit_log WHERE action = '{action}' AND user_id = {id}"
        ))
    }

    /// Everything the audit log says in detail.
    pub(crate) fn audit_details(&self) -> String {
        let query = "SELECT details AS t FROM audit_log WHERE details IS NOT NULL ORDER BY id";
        texts(&self.db.pool(1), query).join("\n")
    }
}
