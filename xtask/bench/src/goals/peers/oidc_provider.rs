//! oidc-provider, a library for Node.js, with all its data in memory.

use super::tokens::TokenPeer;
use super::{Peer, source};
use std::process::Command;
use xtask_fixtures::fresh_folder_on_disk;
use xtask_fixtures::third_party;
use xtask_kit::cmd::Result;

pub(in crate::goals) const OIDC_PROVIDER: TokenPeer = TokenPeer {
    name: "oidc-provider",
    described: "oidc-provider 9.13.3 on Node.js, tokens in memory only",
    prepare,
    introspection: "/token/introspection",
    token: "/token",
};

/// Prepares a server with this many access and refresh tokens, which it creates before it answers.
fn prepare(access: usize, refresh: usize) -> Result<Peer> {
    let (node, scripts) = third_party::node_with("oidc-provider", &source("oidc-provider"))?;
    let folder = fresh_folder_on_disk("peer-")?;
    let tokens = folder.path().to_owned();
    let command = move |port: u16| {
        let mut command = Command::new(&node);
        command
            .arg(scripts.join("server.mjs"))
            .arg(port.to_string())
            .arg(&tokens)
            .args([access.to_string(), refresh.to_string()])
            // Otherwise libraries do extra work for developers.
            .env("NODE_ENV", "production");
        command
    };
    Ok(Peer {
        command: Box::new(command),
        ready: "/.well-known/openid-configuration",
        folder,
    })
}
