//! The form of an OAuth client, for new and for registered ones.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::clients::wire::{CreateOAuthClientRequest, OAuthClientBody};
use crate::oauth::clients::{ClientChanges, ClientMetadata, GrantType, GroupsClaim, ResponseType};
use crate::pages::text;

/// The input of the form. A ticked checkbox is a present field, an unticked one is absent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientForm {
    pub(super) name: String,
    /// One per line, like the other lists.
    pub(super) redirect_uris: String,
    pub(super) scope: String,
    pub(super) is_public: Option<String>,
    pub(super) is_first_party: Option<String>,
    pub(super) may_introspect_any: Option<String>,
    pub(super) algorithm: String,
    pub(super) requires_pkce_s256: Option<String>,
    pub(super) grant_authorization_code: Option<String>,
    pub(super) grant_refresh_token: Option<String>,
    pub(super) grant_device_code: Option<String>,
    pub(super) response_code: Option<String>,
    pub(super) response_id_token: Option<String>,
    pub(super) post_logout_redirect_uris: String,
    pub(super) backchannel_logout_uri: String,
    pub(super) groups_claim: String,
    pub(super) client_uri: String,
    pub(super) logo_uri: String,
    pub(super) policy_uri: String,
    pub(super) tos_uri: String,
    /// The properties when the form was loaded, as JSON. What has not changed since then is not written.
    pub(super) before: String,
}

impl ClientForm {
    /// Returns the form of a new client.
    pub(super) fn for_new() -> Self {
        Self::from(CreateOAuthClientRequest {
            grant_types: [GrantType::AuthorizationCode, GrantType::RefreshToken]
                .map(|it| it.as_str().to_owned())
                .into(),
            ..CreateOAuthClientRequest::default()
        })
    }

    /// Returns the form of a registered client.
    pub(super) fn for_client(client: OAuthClient) -> Result<Self, Error> {
        let request = serde_json::from_value(json!(OAuthClientBody::from(client)));
        let form: Self = request
            .map(CreateOAuthClientRequest::into)
            .map_err(|error| Error::internal("reading a client", error))?;
        Ok(Self {
            before: json!(form.registration()).to_string(),
            ..form
        })
    }

    /// Returns what the form changes.
    pub(super) fn changes(&self) -> ClientChanges {
        let before: Map<String, Value> = serde_json::from_str(&self.before).unwrap_or_default();
        ClientChanges::between(&before, &json!(self.registration()))
    }

    pub(super) fn registration(&self) -> CreateOAuthClientRequest {
        let one = |text: &String| text::given(text.clone());
        CreateOAuthClientRequest {
            name: self.name.clone(),
            redirect_uris: lines(&self.redirect_uris),
            scope: Some(self.scope.split_whitespace().collect::<Vec<_>>().join(" ")),
            is_public: self.is_public.is_some(),
            is_first_party: self.is_first_party.is_some(),
            may_introspect_any: self.may_introspect_any.is_some(),
            id_token_signed_response_alg: one(&self.algorithm),
            requires_pkce_s256: self.requires_pkce_s256.is_some(),
            grant_types: ticked([
                (&self.grant_authorization_code, GrantType::AuthorizationCode),
                (&self.grant_refresh_token, GrantType::RefreshToken),
                (&self.grant_device_code, GrantType::DeviceCode),
            ])
            .map(|it| it.as_str().to_owned())
            .collect(),
            metadata: ClientMetadata {
                client_uri: one(&self.client_uri),
                logo_uri: one(&self.logo_uri),
                policy_uri: one(&self.policy_uri),
                tos_uri: one(&self.tos_uri),
                post_logout_redirect_uris: lines(&self.post_logout_redirect_uris),
                backchannel_logout_uri: one(&self.backchannel_logout_uri),
                response_types: ticked([
                    (&self.response_code, ResponseType::Code),
                    (&self.response_id_token, ResponseType::IdToken),
                ])
                .collect(),
                groups_claim: Some(match self.groups_claim.as_str() {
                    "slug:role" => GroupsClaim::SlugAndRole,
                    _ => GroupsClaim::Slug,
                }),
            },
        }
    }
}

impl From<CreateOAuthClientRequest> for ClientForm {
    fn from(client: CreateOAuthClientRequest) -> Self {
        let tick = |is_on: bool| is_on.then(|| "yes".to_owned());
        let grants =
            |it: GrantType| tick(client.grant_types.iter().any(|name| name == it.as_str()));
        let metadata = client.metadata;
        let responds = |it| tick(metadata.response_types.contains(&it));
        Self {
            grant_authorization_code: grants(GrantType::AuthorizationCode),
            grant_refresh_token: grants(GrantType::RefreshToken),
            grant_device_code: grants(GrantType::DeviceCode),
            response_code: responds(ResponseType::Code),
            response_id_token: responds(ResponseType::IdToken),
            name: client.name,
            redirect_uris: client.redirect_uris.join("\n"),
            scope: client.scope.unwrap_or_default(),
            is_public: tick(client.is_public),
            is_first_party: tick(client.is_first_party),
            may_introspect_any: tick(client.may_introspect_any),
            algorithm: client.id_token_signed_response_alg.unwrap_or_default(),
            requires_pkce_s256: tick(client.requires_pkce_s256),
            post_logout_redirect_uris: metadata.post_logout_redirect_uris.join("\n"),
            backchannel_logout_uri: metadata.backchannel_logout_uri.unwrap_or_default(),
            groups_claim: match metadata.groups_claim {
                Some(GroupsClaim::SlugAndRole) => "slug:role".to_owned(),
                Some(GroupsClaim::Slug) | None => "slug".to_owned(),
            },
            client_uri: metadata.client_uri.unwrap_or_default(),
            logo_uri: metadata.logo_uri.unwrap_or_default(),
            policy_uri: metadata.policy_uri.unwrap_or_default(),
            tos_uri: metadata.tos_uri.unwrap_or_default(),
            before: String::new(),
        }
    }
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::to_owned);
    lines.filter_map(text::given).collect()
}

/// Returns the values whose checkboxes are ticked.
fn ticked<T, const N: usize>(boxes: [(&Option<String>, T); N]) -> impl Iterator<Item = T> {
    let ticked = boxes.map(|(ticked, value)| ticked.is_some().then_some(value));
    ticked.into_iter().flatten()
}
