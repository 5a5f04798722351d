use event_types::MailTemplate;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::support::{Identity, SignedIn};

/// A team with its owner, an admin and a member, and an account outside of it.
pub(crate) struct TeamFixture {
    pub(crate) identity: Identity,
    pub(crate) owner: SignedIn,
    pub(crate) admin: SignedIn,
    pub(crate) member: SignedIn,
    pub(crate) stranger: SignedIn,
}

impl TeamFixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut identity_service::Config)) -> Self {
        let identity = Identity::start_with(change).await;
        let fixture = Self {
            owner: identity.register("Olga").await,
            admin: identity.register("Adam").await,
            member: identity.register("Mia").await,
            stranger: identity.register("Sam").await,
            identity,
        };
        fixture.create(&fixture.owner, "crew").await.expect(201);
        fixture
            .add(&fixture.owner, "adam", Some("admin"))
            .await
            .expect(201);
        fixture.add(&fixture.owner, "MIA", None).await.expect(201);
        fixture
    }

    pub(crate) async fn create(&self, by: &SignedIn, slug: &str) -> ApiResponse {
        let body = json!({ "name": "The Crew", "slug": slug, "description": "we" });
        self.post(by, "/api/teams", body).await
    }

    pub(crate) async fn add(
        &self,
        by: &SignedIn,
        username: &str,
        role: Option<&str>,
    ) -> ApiResponse {
        let body = json!({ "username": username, "role": role });
        self.post(by, "/api/teams/crew/members", body).await
    }

    pub(crate) async fn set_role(&self, by: &SignedIn, username: &str, role: &str) -> ApiResponse {
        let path = format!("/api/teams/crew/members/{username}");
        self.put(by, &path, json!({ "role": role })).await
    }

    pub(crate) async fn remove(&self, by: &SignedIn, username: &str) -> ApiResponse {
        self.delete(by, &format!("/api/teams/crew/members/{username}"))
            .await
    }

    pub(crate) async fn invite(
        &self,
        by: &SignedIn,
        email: &str,
        role: Option<&str>,
    ) -> ApiResponse {
        let body = json!({ "email": email, "role": role });
        self.post(by, "/api/teams/crew/invite", body).await
    }

    /// Invites an address, and returns the invitation and the token of its mail.
    pub(crate) async fn invited(
        &self,
        by: &SignedIn,
        email: &str,
        role: Option<&str>,
    ) -> (Value, String) {
        let before = self.tokens();
        let reply = self.invite(by, email, role).await.expect(200).json();
        let mut new = self.tokens();
        new.retain(|token| !before.contains(token));
        assert_eq!(new.len(), 1, "one mail for each invitation");
        (reply["invitation"].clone(), new.remove(0))
    }

    /// Returns the tokens of all invitation mails. They have no order, because they were written at one instant.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let mails = self.identity.mails().into_iter();
        mails
            .filter_map(|mail| match mail.text {
                MailTemplate::Invitation { link, .. } => Some(link.rsplit_once('/')?.1.to_owned()),
                _ => None,
            })
            .collect()
    }

    pub(crate) async fn answer(&self, by: &SignedIn, token_or_id: &str) -> ApiResponse {
        let path = format!("/api/invitations/{token_or_id}");
        let call = self.identity.api.post(&path).bearer(&by.access);
        call.send().await
    }

    pub(crate) async fn decline(&self, by: &SignedIn, token_or_id: &str) -> ApiResponse {
        self.delete(by, &format!("/api/invitations/{token_or_id}"))
            .await
    }

    pub(crate) async fn get(&self, by: &SignedIn, path: &str) -> ApiResponse {
        self.identity.api.get(path).bearer(&by.access).send().await
    }

    pub(crate) async fn post(&self, by: &SignedIn, path: &str, body: Value) -> ApiResponse {
        let call = self.identity.api.post(path).bearer(&by.access);
        call.json(body).send().await
    }

    pub(crate) async fn put(&self, by: &SignedIn, path: &str, body: Value) -> ApiResponse {
        let call = self.identity.api.put(path).bearer(&by.access);
        call.json(body).send().await
    }

    pub(crate) async fn delete(&self, by: &SignedIn, path: &str) -> ApiResponse {
        let call = self.identity.api.delete(path).bearer(&by.access);
        call.send().await
    }

    /// Whether an event reports that an account now has this role in the crew, or none.
    pub(crate) fn is_told(&self, who: &SignedIn, role: Option<&str>) -> bool {
        let team = json!({ "id": 1, "slug": "crew", "name": "The Crew" });
        let event = json!({ "user_id": who.id, "team": team, "role": role });
        let events = self.identity.events("identity.membership_changed.v1");
        events.contains(&event)
    }

    /// Gives an account an e-mail address, verified or not.
    pub(crate) fn give_address(&self, to: &SignedIn, email: &str, verified: bool) {
        self.identity.sql(&format!(
            "UPDATE users SET email = '{email}', email_verified = {verified} WHERE id = {}",
            to.id
        ));
    }

    /// Returns the names and roles of the crew, in the order of the list.
    pub(crate) async fn roles(&self) -> Vec<(String, String)> {
        let body = self
            .get(&self.owner, "/api/teams/crew/members")
            .await
            .expect(200)
            .json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        body["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| (text(&m["username"]), text(&m["role"])))
            .collect()
    }

    /// Returns the role of one member of the crew.
    pub(crate) async fn role_of(&self, username: &str) -> Option<String> {
        let roles = self.roles().await;
        let found = roles.into_iter().find(|(name, _)| name == username);
        found.map(|(_, role)| role)
    }

    /// Returns the audit entries after this one, oldest first: action, account concerned, actor.
    pub(crate) fn audit_since(&self, id: i64) -> Vec<String> {
        let query = format!(
            "SELECT action || ' ' || coalesce(cast(user_id AS TEXT), '-') || ' ' || coalesce(cast(actor_id AS TEXT), '-') AS t \
             FROM audit_log WHERE id > {id} ORDER BY id"
        );
        crate::support::texts(&self.identity.db.pool(1), &query)
    }

    /// Returns the id of the newest audit entry.
    pub(crate) fn audit_end(&self) -> i64 {
        self.identity.count("SELECT max(id) AS n FROM audit_log")
    }
}
