//! The context of a request: who calls, and from where, for the audit log, the list of sign-ins, and events.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;

use actix_web::dev::Payload;
use actix_web::http::header::USER_AGENT;
use actix_web::{FromRequest, HttpRequest};
use auth_types::UserId;
use service_kit::http::{ClientIp, RequestId};

/// The number of characters of a `User-Agent` that are stored.
const MAX_USER_AGENT_CHARS: usize = 256;

/// The channel through which a change was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestChannel {
    Http,
    /// A command on the machine's command line.
    Command,
    /// The service itself, such as a key rotation by age.
    System,
}

impl RequestChannel {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Command => "command",
            Self::System => "system",
        }
    }
}

/// Who calls, and from where. A handler's argument has the address; [`RequestContext::with_actor`] adds the account.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) channel: RequestChannel,
    pub(crate) actor: Option<UserId>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) user_agent: Option<String>,
    pub(crate) request_id: Option<String>,
    /// The caller's session, which must still be valid when the change is committed.
    pub(crate) session_check: Option<SessionCheck>,
    /// The session whose cookie the browser replaces with the new session's.
    pub(crate) replaces: Option<(UserId, String)>,
}

/// What must still hold of the caller inside the transaction. A body may take half a minute to arrive after the token
/// was checked, and the access may be revoked meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct SessionCheck {
    pub(crate) session_id: String,
    pub(crate) superadmin: bool,
}

impl RequestContext {
    /// Returns a context without an address, for the command line or the service itself.
    pub(crate) fn local(channel: RequestChannel) -> Self {
        Self {
            channel,
            actor: None,
            address: None,
            user_agent: None,
            request_id: None,
            session_check: None,
            replaces: None,
        }
    }

    pub(crate) fn address_text(&self) -> Option<String> {
        self.address.map(|address| address.to_string())
    }

    /// Adds the account that calls.
    pub(crate) fn with_actor(mut self, actor: UserId) -> Self {
        self.actor = Some(actor);
        self
    }
}

impl FromRequest for RequestContext {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let Ok(ClientIp(address)) = ClientIp::from_request(req, payload).into_inner();
        let Ok(request_id) = RequestId::from_request(req, payload).into_inner();
        let user_agent = req
            .headers()
            .get(USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .map(|text| text.chars().take(MAX_USER_AGENT_CHARS).collect::<String>())
            .filter(|text| !text.is_empty());
        ready(Ok(Self {
            address: Some(address),
            user_agent,
            request_id: Some(request_id.as_str().to_owned()),
            ..Self::local(RequestChannel::Http)
        }))
    }
}
