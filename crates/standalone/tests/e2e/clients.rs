//! Runs the examples of `docs/oauth` unchanged and to their end, each with a user who consents, and the example of
//! `docs/events`, with events that happen.

mod application;
mod applications;
mod events;
mod generated;
mod openapi;
mod servers;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use test_kit::setting;

use crate::forms::Person;
use crate::site::{Client, Site};

const LOOPBACK: &str = "http://127.0.0.1/callback";
const SCOPES: [&str; 8] = [
    "openid",
    "profile",
    "email",
    "teams",
    "sessions:read",
    "sessions:write",
    "offline_access",
    "teams:write",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Authlib: `cargo xtask e2e clients` runs it"]
async fn authlib_completes_the_whole_flow() {
    let python = tool("PYTHON");
    let folder = tool("EXAMPLES").join("python");
    check_example(Command::new(&python).arg(folder.join("sign_in.py"))).await;
    check_device(Command::new(&python).arg(folder.join("device.py"))).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs openid-client: `cargo xtask e2e clients` runs it"]
async fn openid_client_completes_the_whole_flow() {
    let folder = tool("JAVASCRIPT");
    check_example(node().arg(folder.join("sign_in.js"))).await;
    check_device(node().arg(folder.join("device.js"))).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs openidconnect: `cargo xtask e2e clients` runs it"]
async fn openidconnect_completes_the_whole_flow() {
    let folder = tool("RUST");
    check_example(&mut Command::new(folder.join("sign_in"))).await;
    check_device(&mut Command::new(folder.join("device"))).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs oauth4webapi: `cargo xtask e2e clients` runs it"]
async fn oauth4webapi_accepts_every_response() {
    let site = site().await;
    for (more, algorithm) in [
        (vec![], "RS256"),
        (vec!["--id-token-signed-response-alg", "ES256"], "ES256"),
        (vec!["--public"], "RS256"),
    ] {
        let client = client(&site, &more);
        let mut program = node();
        program.arg(tool("JAVASCRIPT").join("strict.js"));
        program.env("ALGORITHM", algorithm);
        let said = visited(&site, &mut program, &client).await;
        said.has("Discovered:", &site.base);
        said.has("Id token:", "1 mia");
        said.has("User:", "mia");
        said.has("Replayed:", "invalid_grant");
        said.has("Challenged:", "invalid_token");
        said.has("Device:", "authorization_pending");
        if !more.contains(&"--public") {
            said.has("Active:", "true mia");
        }
    }
}

/// Starts a site with the user mia, who is in one team.
async fn site() -> Site {
    let site = Site::secure().await;
    let token = site.register("mia").await;
    let body = serde_json::json!({"name": "Night shift", "slug": "night-shift"});
    let call = site.api.post("/api/teams").bearer(&token).json(body);
    call.send().await.expect(201);
    site
}

fn client(site: &Site, more: &[&str]) -> Client {
    let mut args: Vec<&str> = SCOPES.iter().flat_map(|scope| ["--scope", scope]).collect();
    for grant_type in ["authorization_code", "refresh_token", "device_code"] {
        args.extend(["--grant-type", grant_type]);
    }
    args.extend(more);
    site.client("The example", LOOPBACK, &args)
}

/// Checks discovery, code with PKCE, ID token, userinfo, an API, refresh, introspection and revocation.
async fn check_example(program: &mut Command) {
    let site = site().await;
    let said = visited(&site, program, &client(&site, &[])).await;
    for scope in ["openid", "profile", "email", "teams", "sessions:read"] {
        said.has("Granted:", scope);
        said.has("Refreshed:", scope);
    }
    said.has("Id token:", "1 mia");
    said.has("User:", "mia");
    assert!(said.first("Teams:").contains('1'), "{said:?}");
    said.has("Active:", "mia");
    let ended = said.0.last().unwrap().to_lowercase();
    assert_eq!(ended, "active: false", "{said:?}");
}

async fn check_device(program: &mut Command) {
    let site = site().await;
    let client = client(&site, &["--public"]);
    let said = device_visited(&site, program, &client).await;
    said.has("Granted:", "sessions:write");
    said.has("User:", "mia");
}

/// Runs a program to its end, while mia opens the address that it prints and allows everything.
async fn visited(site: &Site, program: &mut Command, client: &Client) -> Said {
    let mut running = started(site, program, client);
    let (mut lines, address) = address_of(&mut running);
    let mut mia = Person::signed_in(site, "mia").await;
    mia.allow(&address).await;
    Said(rest_of(&mut lines, running))
}

/// Runs a program to its end, while mia enters the code that it prints and allows everything.
async fn device_visited(site: &Site, program: &mut Command, client: &Client) -> Said {
    let mut running = started(site, program, client);
    let (mut lines, line) = address_of(&mut running);
    let (address, code) = line.split_once(" and enter: ").unwrap();
    let mut mia = Person::signed_in(site, "mia").await;
    mia.allow_device(address, code).await;
    Said(rest_of(&mut lines, running))
}

type Lines = std::io::Lines<BufReader<std::process::ChildStdout>>;

fn started(site: &Site, program: &mut Command, client: &Client) -> Child {
    let authority = site.authority.as_deref().unwrap();
    let mut env = BTreeMap::from([
        ("HOLDFAST", site.base.as_str()),
        ("CLIENT_ID", &client.id),
        // The name that each runtime has for the file of further authorities.
        ("REQUESTS_CA_BUNDLE", authority),
        ("NODE_EXTRA_CA_CERTS", authority),
        ("SSL_CERT_FILE", authority),
        ("NO_PROXY", "localhost,127.0.0.1"),
    ]);
    if !client.secret.is_empty() {
        env.insert("CLIENT_SECRET", &client.secret);
    }
    program
        .envs(env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    program.spawn().unwrap()
}

/// Reads until the program prints the address for its user.
fn address_of(running: &mut Child) -> (Lines, String) {
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut before = Vec::new();
    for line in lines.by_ref() {
        let line = line.unwrap();
        if let Some(address) = line.strip_prefix("Open in a browser: ") {
            return (lines, address.to_owned());
        }
        before.push(line);
    }
    panic!("it ended with {:?} after {before:?}", running.wait());
}

fn rest_of(lines: &mut Lines, mut running: Child) -> Vec<String> {
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    let status = running.wait().unwrap();
    assert!(status.success(), "{status} after {said:?}");
    said
}

/// What a program printed after its user had come back.
#[derive(Debug)]
struct Said(Vec<String>);

impl Said {
    #[track_caller]
    fn first(&self, what: &str) -> &str {
        let line = self.0.iter().find(|line| line.starts_with(what));
        line.unwrap_or_else(|| panic!("no {what} in {self:?}"))
    }

    #[track_caller]
    fn has(&self, what: &str, value: &str) {
        let line = self.first(what);
        assert!(line.contains(value), "{line:?} without {value:?}");
    }
}

fn node() -> Command {
    Command::new(tool("NODE"))
}

fn tool(name: &str) -> PathBuf {
    let name = format!("HOLDFAST_E2E_{name}");
    let path = setting(&name);
    path.unwrap_or_else(|| panic!("{name} is not set: `cargo xtask e2e` sets it"))
        .into()
}
