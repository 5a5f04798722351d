use std::collections::HashMap;
use std::sync::LazyLock;

use auth_types::Scope;

use super::TokenAccess;

/// The callers that an endpoint accepts besides the product's own sign-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointRule {
    pub(crate) client: ClientRule,
    /// Whether it accepts a site that a session was handed over to.
    pub(crate) sso: bool,
}

/// What an OAuth client needs to call an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientRule {
    AnyToken,
    Scope(Scope),
    /// No token of a client is accepted.
    Never,
}

/// Any valid token.
const ANY: EndpointRule = rule(ClientRule::AnyToken, true);
/// A client with the scope `account`, or an SSO session: profile, photo, and global sign-out.
const ACCOUNT_OR_SSO: EndpointRule = scope(Scope::Account);
/// A client with the scope `account`, but no SSO session: sessions, applications, and export.
const ACCOUNT_NOT_SSO: EndpointRule = rule(ClientRule::Scope(Scope::Account), false);
/// Only the product's own sign-ins: password, e-mail address, second factor, deletion, giving access to others, and
/// administration, which could undo all of these.
const SIGN_IN: EndpointRule = rule(ClientRule::Never, false);
/// The product's own sign-ins and SSO sessions: handing a sign-in over to another site.
const SSO_SESSION: EndpointRule = rule(ClientRule::Never, true);

const fn rule(client: ClientRule, sso: bool) -> EndpointRule {
    EndpointRule { client, sso }
}

const fn scope(scope: Scope) -> EndpointRule {
    rule(ClientRule::Scope(scope), true)
}

const TEAMS: EndpointRule = scope(Scope::Teams);
const TEAMS_WRITE: EndpointRule = scope(Scope::TeamsWrite);

/// Every endpoint that reads an access token: its methods, its path, and who may call it.
pub(crate) const TABLE: &[(&str, &str, EndpointRule)] = &[
    ("GET POST", "/api/auth/validate", ANY),
    ("GET", "/api/auth/me", ANY),
    ("GET", "/api/auth/user/{user_id}", ANY),
    ("PUT", "/api/auth/user/{user_id}", ACCOUNT_OR_SSO),
    ("DELETE", "/api/auth/user/{user_id}", SIGN_IN),
    ("POST", "/api/auth/logout", ANY),
    ("GET", "/api/auth/global-logout", ACCOUNT_OR_SSO),
    ("GET DELETE", "/api/auth/sessions", ACCOUNT_NOT_SSO),
    ("DELETE", "/api/auth/sessions/{session_id}", ACCOUNT_NOT_SSO),
    ("GET", "/api/auth/applications", ACCOUNT_NOT_SSO),
    (
        "DELETE",
        "/api/auth/applications/{client_id}",
        ACCOUNT_NOT_SSO,
    ),
    ("GET", "/api/auth/export", ACCOUNT_NOT_SSO),
    ("POST", "/api/auth/password/change", SIGN_IN),
    ("POST", "/api/auth/email/change", SIGN_IN),
    ("GET", "/api/auth/totp", SIGN_IN),
    ("POST", "/api/auth/totp/setup", SIGN_IN),
    ("POST", "/api/auth/totp/confirm", SIGN_IN),
    ("POST", "/api/auth/totp/disable", SIGN_IN),
    ("POST", "/api/auth/totp/recovery-codes", SIGN_IN),
    ("POST", "/api/auth/sso/token", SSO_SESSION),
    ("GET", "/api/auth/sso/authorize", SIGN_IN),
    ("GET", "/api/oauth/authorize", SIGN_IN),
    ("GET POST", "/api/oauth/userinfo", scope(Scope::OpenId)),
    ("GET", "/api/auth/user/{user_id}/profile-photo", ANY),
    (
        "PUT DELETE",
        "/api/auth/user/{user_id}/profile-photo",
        ACCOUNT_OR_SSO,
    ),
    ("GET", "/api/auth/user/{user_id}/profile-photo/file", ANY),
    ("POST", "/api/auth/users/profile-photos", ANY),
    ("GET", "/api/teams", TEAMS),
    ("POST", "/api/teams", TEAMS_WRITE),
    ("GET", "/api/teams/{slug}", TEAMS),
    ("PUT DELETE", "/api/teams/{slug}", TEAMS_WRITE),
    ("POST", "/api/teams/{slug}/leave", TEAMS_WRITE),
    ("GET", "/api/teams/{slug}/members", TEAMS),
    ("POST", "/api/teams/{slug}/members", TEAMS_WRITE),
    (
        "PUT DELETE",
        "/api/teams/{slug}/members/{username}",
        TEAMS_WRITE,
    ),
    ("POST", "/api/teams/{slug}/invite", TEAMS_WRITE),
    ("GET", "/api/teams/{slug}/invitations", TEAMS),
    ("DELETE", "/api/teams/{slug}/invitations/{id}", TEAMS_WRITE),
    ("POST DELETE", "/api/invitations/{token}", TEAMS_WRITE),
    ("GET", "/api/user/teams", TEAMS),
    ("GET", "/api/user/invitations", TEAMS),
    ("GET POST", "/api/admin/users", SIGN_IN),
    ("GET PATCH", "/api/admin/users/{user_id}", SIGN_IN),
    ("POST", "/api/admin/users/{user_id}/reset-password", SIGN_IN),
    (
        "POST",
        "/api/admin/users/{user_id}/revoke-sessions",
        SIGN_IN,
    ),
    ("GET", "/api/admin/audit", SIGN_IN),
    ("GET POST", "/api/admin/oauth-clients", SIGN_IN),
    (
        "GET PATCH DELETE",
        "/api/admin/oauth-clients/{client_id}",
        SIGN_IN,
    ),
    (
        "POST",
        "/api/admin/oauth-clients/{client_id}/rotate-secret",
        SIGN_IN,
    ),
];

static BY_ENDPOINT: LazyLock<HashMap<(&str, &str), EndpointRule>> = LazyLock::new(|| {
    TABLE
        .iter()
        .flat_map(|(methods, path, rule)| {
            methods
                .split(' ')
                .map(move |method| ((method, *path), *rule))
        })
        .collect()
});

/// Whether an endpoint rejects some valid tokens.
pub(crate) fn refuses_some(method: &str, pattern: &str) -> bool {
    let rule = BY_ENDPOINT.get(&(method, pattern));
    rule.is_some_and(|rule| *rule != ANY)
}

/// Whether a token may be used at an endpoint, given by its method and path pattern.
pub(crate) fn allows(access: &TokenAccess, method: &str, pattern: &str) -> bool {
    let method = if method == "HEAD" { "GET" } else { method };
    let rule = BY_ENDPOINT.get(&(method, pattern));
    match (access, rule) {
        (TokenAccess::Full, _) => true,
        (_, None) => false,
        (TokenAccess::Sso { .. }, Some(rule)) => rule.sso,
        (TokenAccess::Client(client), Some(rule)) => match rule.client {
            ClientRule::AnyToken => true,
            // A client that is no longer first-party can still hold a token with that scope.
            ClientRule::Scope(Scope::Account) if !client.is_first_party => false,
            ClientRule::Scope(needed) => client.scope.contains(needed),
            ClientRule::Never => false,
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use auth_types::ScopeSet;

    use super::*;
    use crate::token_access::ClientAccess;

    const DOCUMENT: &str = include_str!("../../../../docs/scopes.md");

    fn row(method: &str, path: &str, rule: EndpointRule) -> String {
        let yes = |allowed: bool| if allowed { "yes" } else { "no" };
        let client = match rule.client {
            ClientRule::AnyToken => "any token".to_owned(),
            ClientRule::Scope(scope) => format!("`{scope}`"),
            ClientRule::Never => "–".to_owned(),
        };
        let sso = yes(rule.sso);
        format!("| {method} | `{path}` | {client} | {sso} |")
    }

    #[test]
    fn the_scopes_document_has_the_same_rows() {
        let rows = TABLE.iter().flat_map(|(methods, path, rule)| {
            methods
                .split(' ')
                .map(move |method| row(method, path, *rule))
        });
        let section = DOCUMENT.split("\n## ").nth(1).unwrap();
        let documented: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains("`/"))
            .collect();
        assert_eq!(documented, rows.collect::<Vec<_>>());
    }

    /// A client's token never reaches an endpoint that only the account itself may call.
    #[test]
    fn no_scope_opens_an_endpoint_that_is_closed_to_clients() {
        let client = |scope: ScopeSet, is_first_party| {
            TokenAccess::Client(ClientAccess {
                client_id: "app".to_owned(),
                scope,
                is_first_party,
            })
        };
        let all = [
            client(ScopeSet::all(), false),
            client(ScopeSet::all(), true),
        ];
        let none = client(ScopeSet::default(), true);
        let sso = TokenAccess::Sso { site: None };
        for (methods, path, rule) in TABLE {
            for method in methods.split(' ') {
                let never = rule.client == ClientRule::Never;
                let is_own = rule.client == ClientRule::Scope(Scope::Account);
                let [third, own] = &all;
                assert_eq!(
                    allows(third, method, path),
                    !never && !is_own,
                    "{method} {path}"
                );
                assert_eq!(allows(own, method, path), !never, "{method} {path}");
                let any = rule.client == ClientRule::AnyToken;
                assert_eq!(allows(&none, method, path), any, "{method} {path}");
                assert_eq!(allows(&sso, method, path), rule.sso);
                assert!(allows(&TokenAccess::Full, method, path));
            }
        }
        for access in all.iter().chain([&none, &sso]) {
            assert!(!allows(access, "GET", "/api/not/in/the/table"));
            assert!(!allows(access, "PATCH", "/api/auth/me"));
        }
    }
}
