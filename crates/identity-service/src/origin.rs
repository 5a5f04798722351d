//! Where a request comes from: for the audit log, the list of sign-ins, and events.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;

use actix_web::dev::Payload;
use actix_web::http::header::USER_AGENT;
use actix_web::{FromRequest, HttpRequest};
use auth_types::UserId;
use service_kit::http::{ClientIp, RequestId};

/// Characters of a `User-Agent` that are kept.
const MAX_USER_AGENT_CHARS: usize = 256;

/// Which way a change came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    Http,
    /// Somebody at the machine's command line.
    Command,
    /// The service itself, such as a rotation by age.
    System,
}

impl Via {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Command => "command",
            Self::System => "system",
        }
    }
}

/// Who asks from where. As an argument of a handler it knows the address; who it is, is added with [`Origin::by`].
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) via: Via,
    pub(crate) actor: Option<UserId>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) user_agent: Option<String>,
    pub(crate) request_id: Option<String>,
    /// The sign-in that asks, which must still stand when the change is made.
    pub(crate) standing: Option<Standing>,
    /// The session whose cookie the browser gives up for the one that is opened.
    pub(crate) replaces: Option<(UserId, String)>,
}

/// What must still hold of who asks, inside the transaction: a body may take half a minute to arrive after
/// the token was looked at, and a right may end meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) session_id: String,
    pub(crate) superadmin: bool,
}

impl Origin {
    /// One without an address, as of the machine's command line or the service itself.
    pub(crate) fn local(via: Via) -> Self {
        Self {
            via,
            actor: None,
            address: None,
            user_agent: None,
            request_id: None,
            standing: None,
            replaces: None,
        }
    }

    pub(crate) fn address_text(&self) -> Option<String> {
        self.address.map(|address| address.to_string())
    }

    /// The same, and who it is.
    pub(crate) fn by(mut self, actor: UserId) -> Self {
        self.actor = Some(actor);
        self
    }
}

impl FromRequest for Origin {
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
            ..Self::local(Via::Http)
        }))
    }
}
