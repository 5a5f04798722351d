//! Decides the next step of a valid authorization request.

use auth_types::UserId;
use chrono::NaiveDateTime;

use super::request::AuthorizationRequest;
use super::response::AuthorizationError;

/// How a request reached the authorization endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestSource {
    /// The client sent the user's browser.
    Browser,
    /// The user submitted the consent page with this decision.
    Answered(Decision),
    /// A program sent the user's own access token. No other site can make a program do that, so it counts as consent.
    Bearer,
}

/// The user's decision about the request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    Allow,
    Deny,
}

/// The next step of an authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AuthorizeStep {
    SignIn,
    Register,
    SelectAccount,
    Ask,
    Grant,
    Deny,
    Refuse(AuthorizationError),
}

/// The user who is signed in.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedInUser {
    pub(super) id: UserId,
    /// When they authenticated.
    pub(super) at: NaiveDateTime,
    /// Whether the client already has their consent, or needs none.
    pub(super) is_allowed: bool,
}

/// Decides the next step.
pub(super) fn next_step(
    request: &AuthorizationRequest,
    source: RequestSource,
    user: Option<SignedInUser>,
    now: NaiveDateTime,
) -> AuthorizeStep {
    let prompt = request.prompt;
    let without_pages = prompt.none || source == RequestSource::Bearer;
    let wants_other = prompt.login || prompt.create;
    let fresh = user.filter(|user| !wants_other && request.max_age.covers(user.at, now));
    let Some(user) = fresh else {
        return match prompt.create {
            _ if without_pages => AuthorizeStep::Refuse(AuthorizationError::login_required()),
            true => AuthorizeStep::Register,
            false => AuthorizeStep::SignIn,
        };
    };
    if request.expected_user.is_some_and(|id| id != user.id) {
        // A user who has been to the sign-in page chose another account; asking again would loop.
        return match without_pages || request.max_age.follows_sign_in() {
            true => AuthorizeStep::Refuse(AuthorizationError::login_required()),
            false => AuthorizeStep::SignIn,
        };
    }
    if prompt.select_account {
        return match source {
            RequestSource::Bearer => AuthorizeStep::Refuse(AuthorizationError::new(
                "account_selection_required",
                "the user must choose an account",
            )),
            _ => AuthorizeStep::SelectAccount,
        };
    }
    let consent_required =
        AuthorizationError::new("consent_required", "the user must be asked for consent");
    match source {
        RequestSource::Answered(Decision::Allow) => AuthorizeStep::Grant,
        RequestSource::Answered(Decision::Deny) => AuthorizeStep::Deny,
        RequestSource::Bearer if prompt.consent => AuthorizeStep::Refuse(consent_required),
        RequestSource::Bearer => AuthorizeStep::Grant,
        RequestSource::Browser if user.is_allowed && !prompt.consent => AuthorizeStep::Grant,
        RequestSource::Browser if prompt.none => AuthorizeStep::Refuse(consent_required),
        RequestSource::Browser => AuthorizeStep::Ask,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::{DateTime, TimeDelta};
    use proptest::prelude::*;

    use super::*;
    use crate::oauth::authorize::parameters::Parameters;
    use crate::oauth::authorize::response::ResponseMode;
    use crate::oauth::clients::model::OAuthClient;

    const NOW: i64 = 1_800_000_000;

    fn at(seconds: i64) -> NaiveDateTime {
        DateTime::from_timestamp(seconds, 0).unwrap().naive_utc()
    }

    fn request(query: &str) -> AuthorizationRequest {
        let query = format!("response_type=code&{query}");
        let client = OAuthClient::sample();
        let parameters = Parameters::parse(&query);
        AuthorizationRequest::parse(&client, &parameters, ResponseMode::Query, true).unwrap()
    }

    /// Returns the name of the next step, or the code of the authorization error.
    fn step(
        query: &str,
        source: RequestSource,
        age: Option<i64>,
        is_allowed: bool,
    ) -> &'static str {
        let user = age.map(|age| SignedInUser {
            id: "1".parse().unwrap(),
            at: at(NOW - age),
            is_allowed,
        });
        match next_step(&request(query), source, user, at(NOW)) {
            AuthorizeStep::SignIn => "sign in",
            AuthorizeStep::Register => "register",
            AuthorizeStep::SelectAccount => "select",
            AuthorizeStep::Ask => "ask",
            AuthorizeStep::Grant => "grant",
            AuthorizeStep::Deny => "deny",
            AuthorizeStep::Refuse(refusal) => refusal.code,
        }
    }

    #[test]
    fn each_prompt_and_max_age_leads_to_its_step() {
        for (query, age, is_allowed, expected) in [
            ("", None, true, "sign in"),
            ("", Some(0), false, "ask"),
            ("", Some(9_999), true, "grant"),
            ("prompt=none", None, true, "login_required"),
            ("prompt=none", Some(0), false, "consent_required"),
            ("prompt=none", Some(0), true, "grant"),
            ("prompt=login", Some(0), true, "sign in"),
            ("prompt=select_account", None, true, "sign in"),
            ("prompt=select_account", Some(0), true, "select"),
            ("prompt=select_account+consent", Some(0), true, "select"),
            ("prompt=select_account+login", Some(0), true, "sign in"),
            (
                "prompt=select_account&max_age=60",
                Some(61),
                true,
                "sign in",
            ),
            ("prompt=create", None, false, "register"),
            ("prompt=create", Some(0), true, "register"),
            ("prompt=create+login+consent", Some(0), true, "register"),
            ("prompt=consent", Some(0), true, "ask"),
            ("prompt=login+consent", Some(0), true, "sign in"),
            ("max_age=60", Some(60), true, "grant"),
            ("max_age=60", Some(61), true, "sign in"),
            ("max_age=60&prompt=none", Some(61), true, "login_required"),
            ("signed_in_after=1799999990000", Some(10), true, "grant"),
            ("signed_in_after=1799999990001", Some(10), true, "sign in"),
        ] {
            assert_eq!(
                step(query, RequestSource::Browser, age, is_allowed),
                expected,
                "{query}"
            );
        }
    }

    #[test]
    fn a_bearer_request_never_leads_to_a_page() {
        for (query, age, expected) in [
            ("", Some(0), "grant"),
            ("prompt=none", Some(0), "grant"),
            ("prompt=consent", Some(0), "consent_required"),
            ("prompt=login", Some(0), "login_required"),
            ("prompt=create", Some(0), "login_required"),
            (
                "prompt=select_account",
                Some(0),
                "account_selection_required",
            ),
            ("max_age=60", Some(61), "login_required"),
        ] {
            assert_eq!(
                step(query, RequestSource::Bearer, age, false),
                expected,
                "{query}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_code_is_granted_without_a_sign_in_and_consent(
            none: bool, login: bool, consent: bool, select: bool, create: bool, age in proptest::option::of(0_i64..100),
            max_age in proptest::option::of(0_u8..100), is_allowed: bool, which in 0_usize..4,
        ) {
            prop_assume!(!(none && (login || consent || select || create)));
            let words = [(none, "none"), (login, "login"), (consent, "consent"), (select, "select_account"), (create, "create")];
            let prompt: Vec<_> = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
            let mut query = format!("prompt={}", prompt.join("+"));
            if let Some(most) = max_age {
                query.push_str(&format!("&max_age={most}"));
            }
            let [allow, deny] = [Decision::Allow, Decision::Deny].map(RequestSource::Answered);
            let sources = [RequestSource::Browser, RequestSource::Bearer, allow, deny];
            let source = sources[which];
            let step = step(&query, source, age, is_allowed);
            if step == "grant" {
                let age = TimeDelta::seconds(age.unwrap());
                prop_assert!(max_age.is_none_or(|most| age <= TimeDelta::seconds(most.into())));
                prop_assert!(!login && !select && !create && source != RequestSource::Answered(Decision::Deny));
                prop_assert!(source != RequestSource::Browser || (is_allowed && !consent));
            }
            let is_page = matches!(step, "ask" | "sign in" | "select" | "register");
            prop_assert!(!is_page || !(none || source == RequestSource::Bearer));
        }
    }
}
