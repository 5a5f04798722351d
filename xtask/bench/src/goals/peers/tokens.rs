//! Peers that issue and introspect tokens.

use super::{Peer, Running, lines};
use crate::environment::CLIENT;
use crate::goals::measurement::{GoalOptions, asked};
use crate::goals::token_refresh::{RefreshRequestShape, refreshed};
use crate::results_table::Sample;
use crate::wrk::Request;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use xtask_fixtures::http::Client;
use xtask_kit::cmd::{Result, fail};

/// As many as the product is measured with.
const ACCESS_TOKENS: usize = 1_000;

/// A peer that issues tokens.
pub(in crate::goals) struct TokenPeer {
    /// The name of its package.
    pub(in crate::goals) name: &'static str,
    /// Its version, and where its tokens are.
    pub(in crate::goals) described: &'static str,
    /// Installs it, and creates this many users with an access token, and this many with a refresh token.
    pub(in crate::goals) prepare: fn(usize, usize) -> Result<Peer>,
    /// The path of introspection.
    pub(super) introspection: &'static str,
    pub(super) token: &'static str,
}

impl TokenPeer {
    /// Prepares the peer and starts it.
    pub(in crate::goals) fn serve(&self, access: usize, refresh: usize) -> Result<TokenServer> {
        let peer = (self.prepare)(access, refresh)?;
        let running = peer.start()?;
        let folder = peer.folder.path();
        let server = TokenServer {
            running,
            introspection: self.introspection,
            token: self.token,
            access: folder.join("access"),
            refresh: lines(&folder.join("refresh"))?,
            _peer: peer,
        };
        let tokens = lines(&server.access)?;
        all_active(&server.running.address, self.introspection, &tokens)?;
        Ok(server)
    }

    /// Returns its resident memory, idle and after introspections as fast as it answers.
    pub(in crate::goals) fn resident(&self, options: &GoalOptions) -> Result<Resident> {
        let mut server = self.serve(ACCESS_TOKENS, 0)?;
        let idle = server.running.idle_mb()?;
        server.introspections(Duration::from_secs(options.seconds))?;
        Ok(Resident {
            idle,
            busy: server.running.resident_mb()?,
        })
    }
}

/// Resident memory in megabytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::goals) struct Resident {
    pub(in crate::goals) idle: f64,
    pub(in crate::goals) busy: f64,
}

/// A running peer, with the tokens that it has issued.
pub(in crate::goals) struct TokenServer {
    // Dropped in this order: the program before its data.
    running: Running,
    introspection: &'static str,
    token: &'static str,
    /// A file with one token a line.
    access: PathBuf,
    refresh: Vec<String>,
    _peer: Peer,
}

impl TokenServer {
    /// Introspects the access tokens as fast as the peer answers.
    pub(in crate::goals) fn introspections(&mut self, time: Duration) -> Result<Sample> {
        let url = format!("{}{}", self.running.address, self.introspection);
        let request = Request {
            url: &url,
            tokens: &self.access,
            client: Some(CLIENT),
        };
        asked(self.running.process(), &request, time)
    }

    /// Uses every refresh token once. Its successor takes its place.
    pub(in crate::goals) fn refreshes(&mut self) -> Result<Sample> {
        let words = RefreshRequestShape {
            path: self.token,
            headers: form(),
            body: |token| format!("grant_type=refresh_token&refresh_token={token}"),
        };
        let process = self.running.process();
        refreshed(process, &self.running.address, &words, &mut self.refresh)
    }
}

/// Checks that all tokens are active: a server that knows none of them answers fast, and with 200.
pub(in crate::goals) fn all_active(address: &str, path: &str, tokens: &[String]) -> Result {
    let mut client = Client::new(address, "");
    for token in tokens {
        let (status, answer) =
            client.send_with("POST", path, &form(), &format!("token={token}"))?;
        let told: Value = serde_json::from_str(&answer).unwrap_or_default();
        if told.pointer("/active") != Some(&Value::Bool(true)) {
            return fail(format!("an access token is not active: {status} {answer}"));
        }
    }
    Ok(())
}

/// Returns the headers of a form, with the client's credentials.
pub(super) fn form() -> String {
    format!("Content-Type: application/x-www-form-urlencoded\r\nAuthorization: {CLIENT}\r\n")
}
