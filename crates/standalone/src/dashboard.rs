//! The dashboard as a client of the identity area, registered there automatically.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use identity_service::OAuthClientConfig;
use service_kit::config::{SecretKey, SecretText};
use service_kit::crypto::hmac_sha256;
use url::{Host, Url};

const CLIENT_ID: &str = "holdfast-dashboard";
/// The path to which the identity area sends browsers back.
const CALLBACK: &str = "/sign-in/callback";
/// The addresses of a service on this machine in a browser; the port may change.
const HERE: [&str; 3] = ["http://127.0.0.1", "http://localhost", "http://[::1]"];

/// Gives both areas the dashboard's client, unless the operator has configured one or the dashboard is at an address to which no
/// sign-in may be sent. The secret is derived from `key`: it is the same at each start, and nobody else knows it.
pub(crate) fn register(
    identity: &mut identity_service::Config,
    worksession: &mut worksession_service::Config,
    key: &SecretKey,
) {
    let uris = redirect_uris(worksession, identity.is_public());
    let is_other = worksession.identity_url.is_some() || worksession.dashboard.client_id.is_some();
    if is_other {
        return;
    }
    let mut own = identity.oauth_clients.iter();
    if let Some(own) = own.find(|client| client.client_id == CLIENT_ID) {
        // The operator has configured it already, perhaps with more redirect URIs.
        let id = own.client_secret.as_ref().map(|_| CLIENT_ID.to_owned());
        if id.is_none() {
            log::warn!(
                "the dashboard is not set up: WORKSESSION__DASHBOARD__CLIENT_ID and WORKSESSION__DASHBOARD__CLIENT_SECRET \
                 must be those of {CLIENT_ID}, whose secret is not in the configuration"
            );
        }
        worksession.dashboard.client_id = id;
        worksession.dashboard.client_secret = own.client_secret.clone();
        return;
    }
    if uris.is_empty() {
        return;
    }
    let secret = URL_SAFE_NO_PAD.encode(hmac_sha256(key.expose(), b"holdfast dashboard client"));
    let secret = SecretText::from(secret.as_str());
    let mut client = OAuthClientConfig {
        client_id: CLIENT_ID.to_owned(),
        name: "Dashboard".to_owned(),
        client_secret: Some(secret.clone()),
        first_party: true,
        // It reads no ID token, so no RSA key needs to be generated for it.
        id_token_signed_response_alg: Some("ES256".to_owned()),
        ..OAuthClientConfig::default()
    };
    client.redirect_uris.0 = uris;
    identity.oauth_clients.push(client);
    worksession.dashboard.client_id = Some(CLIENT_ID.to_owned());
    worksession.dashboard.client_secret = Some(secret);
}

/// Returns the dashboard's redirect URIs, as far as the identity area accepts them: over https, or on this machine, if that is
/// configured or nobody else is served.
fn redirect_uris(worksession: &worksession_service::Config, is_public: bool) -> Vec<String> {
    match &worksession.base_url {
        Some(url) if url.scheme() == "https" || is_here(url) => {
            let base = url.as_str().trim_end_matches('/');
            vec![format!("{base}{CALLBACK}")]
        }
        Some(_) => Vec::new(),
        None => {
            let listen = worksession.listen.ip();
            let is_here = !is_public && (listen.is_loopback() || listen.is_unspecified());
            let here = HERE.iter().filter(|_| is_here);
            here.map(|base| format!("{base}{CALLBACK}")).collect()
        }
    }
}

fn is_here(url: &Url) -> bool {
    HERE.iter().any(|here| {
        let here = Url::parse(here);
        let host = here.as_ref().ok().and_then(Url::host);
        host.is_some_and(|host: Host<&str>| url.host() == Some(host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered(worksession: &str) -> (Vec<String>, Option<String>) {
        let mut identity = identity_service::Config::default();
        let none = std::iter::empty();
        let mut worksession: worksession_service::Config =
            service_kit::config::load_from("WORKSESSION", Some(worksession), none).expect("fits");
        register(&mut identity, &mut worksession, &SecretKey::new([7; 32]));
        let uris = identity.oauth_clients.into_iter();
        let uris = uris.flat_map(|client| client.redirect_uris.0).collect();
        (uris, worksession.dashboard.client_id)
    }

    #[test]
    fn the_dashboard_is_registered_where_sign_ins_may_be_sent() {
        let (uris, id) = registered("[worksession]\nlisten = '0.0.0.0:8090'");
        assert_eq!(
            uris.first().map(String::as_str),
            Some("http://127.0.0.1/sign-in/callback")
        );
        assert_eq!(id.as_deref(), Some(CLIENT_ID));
        for (base, uri) in [
            (
                "https://work.example/",
                Some("https://work.example/sign-in/callback"),
            ),
            (
                "http://localhost:8090",
                Some("http://localhost:8090/sign-in/callback"),
            ),
            ("http://work.example", None),
        ] {
            let (uris, id) = registered(&format!("[worksession]\nbase_url = '{base}'"));
            assert_eq!(uris.first().map(String::as_str), uri, "{base}");
            assert_eq!(id.is_some(), uri.is_some(), "{base}");
        }
        let (uris, _) = registered("[worksession]\nlisten = '192.0.2.1:8090'");
        assert!(uris.is_empty());
        let mut identity = identity_service::Config {
            base_url: "https://id.example.com".parse().ok(),
            ..Default::default()
        };
        let mut worksession = worksession_service::Config::default();
        register(&mut identity, &mut worksession, &SecretKey::new([7; 32]));
        assert!(identity.oauth_clients.is_empty());
    }

    #[test]
    fn a_client_that_the_identity_area_knows_is_used_as_it_is() {
        let mut identity = identity_service::Config::default();
        let mut known = OAuthClientConfig {
            client_id: CLIENT_ID.to_owned(),
            client_secret: Some(SecretText::from("known")),
            ..OAuthClientConfig::default()
        };
        known.redirect_uris.0 = vec!["https://elsewhere.example/sign-in/callback".to_owned()];
        identity.oauth_clients.push(known);
        let mut worksession = worksession_service::Config::default();
        register(&mut identity, &mut worksession, &SecretKey::new([7; 32]));
        assert_eq!(identity.oauth_clients.len(), 1);
        let secret = worksession.dashboard.client_secret;
        assert_eq!(
            secret.map(|it| it.expose().to_owned()).as_deref(),
            Some("known")
        );
        assert_eq!(worksession.dashboard.client_id.as_deref(), Some(CLIENT_ID));
    }

    #[test]
    fn a_client_of_somebodys_own_is_left_alone() {
        let own = "[worksession.dashboard]\nclient_id = 'own'\nclient_secret = 'secret'";
        let (uris, id) = registered(own);
        assert_eq!((uris.len(), id.as_deref()), (0, Some("own")));
    }
}
