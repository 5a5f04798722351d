//! Unmodified applications that take long to install, configured as their own documentation says, whose user signs in with
//! Holdfast.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use test_kit::wait_until;

use super::application::{Application, installed, source};
use super::{device_visited, tool, visited};

const EMAIL: &str = "mia@example.com";
/// More than a call takes after a session has ended.
const CALL: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs next-auth: `cargo xtask e2e clients --all` runs it"]
async fn next_auth_signs_in() {
    let folder = installed("servers/next_auth");
    let application = Application::new("/bin/sh", "/api/auth/callback/holdfast")
        .arg(folder.join("run.sh"))
        .env("NODE", tool("NODE"))
        .ready("/api/auth/signin");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        let page = mia.visit(&running.at("/api/auth/signin")).await;
        // Next.js compiles each page when it is first opened. This route is already open.
        let session = running.at("/api/auth/session");
        let filled = [("callbackUrl", session.as_str())];
        mia.submit(&page, "/api/auth/signin/holdfast", &filled)
            .await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node-RED: `cargo xtask e2e clients --all` runs it"]
async fn node_red_signs_in() {
    let folder = installed("servers/node_red");
    let red = "node_modules/node-red/red.js";
    let application = Application::node("servers/node_red", red, "/auth/strategy/callback")
        .arg("-s")
        .arg(folder.join("settings.js"));
    let sign_in = application.shows(r#""username":"mia""#, async |running, mia| {
        let mut page = mia.visit(&running.at("/auth/strategy")).await;
        // Node-RED does not encode the token.
        let token = page.parameter("access_token").replace(' ', "+");
        let call = running.api().get("/settings").bearer(&token);
        page.reply = call.send().await;
        page
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Actual: `cargo xtask e2e clients --all` runs it"]
async fn actual_signs_in() {
    let application = Application::node("servers/actual", "run.mjs", "/openid/callback");
    let application = application.only_rs256();
    let sign_in = application.shows(r#""userName":"mia""#, async |running, mia| {
        let body = json!({"loginMethod": "openid", "returnUrl": running.base});
        let call = running.api().post("/account/login").json(body);
        let begun = call.send().await.expect(200).json();
        let address = begun["data"]["returnUrl"].as_str().unwrap();
        let mut page = mia.visit(address).await;
        let token = page.parameter("token");
        let call = running.api().get("/account/validate");
        page.reply = call.header("x-actual-token", token).send().await;
        page
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs pgAdmin: `cargo xtask e2e clients --all` runs it"]
async fn pgadmin_signs_in() {
    let program = installed("servers/pgadmin").join("bin/pgadmin4");
    let application = Application::new(program, "/oauth2/authorize")
        .env("PYTHONPATH", source("servers/pgadmin"))
        .env("PGADMIN_SETUP_EMAIL", "admin@example.com")
        .env("PGADMIN_SETUP_PASSWORD", "only for this test")
        .ready("/login");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        let page = mia.visit(&running.at("/login")).await;
        let text = page.reply.text();
        let (_, token) = text.split_once(r#"csrfToken": ""#).unwrap();
        let (token, _) = token.split_once('"').unwrap();
        // A script makes this form.
        let form = [("csrf_token", token), ("oauth2_button", "holdfast")];
        let login = running.at("/authenticate/login");
        mia.send_form(&login, &form).await;
        mia.visit(&running.at("/browser/js/utils.js")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs JupyterHub: `cargo xtask e2e clients --all` runs it"]
async fn jupyterhub_takes_its_groups_from_teams() {
    let proxy = "node_modules/configurable-http-proxy/bin/configurable-http-proxy";
    let program = installed("servers/jupyterhub").join("bin/jupyterhub");
    let application = Application::new(program, "/hub/oauth_callback")
        .arg("-f")
        .arg(source("servers/jupyterhub/jupyterhub_config.py"))
        .env("NODE", tool("NODE"))
        .env("PROXY", installed("servers/jupyterhub_proxy").join(proxy))
        .scopes(&["openid", "profile", "email", "groups"])
        .ready("/hub/api/");
    let groups = r#""groups": ["night-shift"]"#;
    let sign_in = application.shows(groups, async |running, mia| {
        let login = running.at("/hub/oauth_login?next=/hub/home");
        mia.visit(&login).await.shows("mia");
        mia.visit(&running.at("/hub/api/user")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Roundcube and Dovecot: `cargo xtask e2e clients --all` runs it"]
async fn roundcube_reads_mail_from_a_dovecot_that_introspects() {
    let run = source("servers/roundcube/run.sh");
    let application = Application::new("/bin/bash", "/index.php/login/oauth").arg(run);
    let sign_in = application.shows(EMAIL, async |running, mia| {
        let page = mia.visit(&running.at("/")).await;
        page.shows("Inbox");
        page
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs matrix-synapse: `cargo xtask e2e clients --all` runs it"]
async fn synapse_signs_in_and_out_with_its_user() {
    const CLIENT: &str = "/_matrix/client/v3";
    let python = installed("servers/synapse").join("bin/python");
    let application = Application::new(python, "/_synapse/client/oidc/callback")
        .arg(source("servers/synapse/run.py"))
        .registered_with(&[
            "--backchannel-logout-uri=BASE_URL/_synapse/client/oidc/backchannel_logout",
        ])
        .ready("/health");
    let signs_in_and_out = application.runs(async |running, mia| {
        let redirect = format!("{CLIENT}/login/sso/redirect/oidc-holdfast?redirectUrl=");
        let address = running.at(&format!("{redirect}{}", running.at("/health")));
        let page = mia.visit(&address).await;
        let login = json!({"type": "m.login.token", "token": page.parameter("loginToken")});
        let api = running.api();
        let call = api.post(&format!("{CLIENT}/login")).json(login);
        let made = call.send().await.expect(200).json();
        let token = made["access_token"].as_str().unwrap();
        let whoami = async || {
            let call = api.get(&format!("{CLIENT}/account/whoami"));
            call.bearer(token).send().await
        };
        assert_eq!(whoami().await.json()["user_id"], "@mia:matrix.test");
        mia.sign_out().await;
        let called = wait_until("Synapse to be called", CALL, async || {
            let reply = whoami().await;
            (reply.status != 200).then_some(reply)
        });
        let refused = called.await.expect(401).json();
        assert_eq!(refused["errcode"], "M_UNKNOWN_TOKEN");
    });
    signs_in_and_out.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs go-oidc: `cargo xtask e2e clients --all` runs it"]
async fn go_oidc_signs_in() {
    let built = tempfile::tempdir().unwrap();
    let program = built.path().join("main");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program);
    build.arg(source("servers/go_oidc/main.go"));
    // Debian's packages have sources for this path, and no modules.
    let build = build.envs([("GOPATH", "/usr/share/gocode"), ("GO111MODULE", "off")]);
    assert!(build.status().unwrap().success());
    let application = Application::new(program, "/callback");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        mia.visit(&running.at("/")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mod_auth_openidc: `cargo xtask e2e clients --all` runs it"]
async fn mod_auth_openidc_signs_in() {
    let folder = source("servers/mod_auth_openidc");
    let application = Application::new("/usr/sbin/apache2", "/secure/redirect_uri")
        .arg("-DFOREGROUND")
        .arg("-f")
        .arg(folder.join("apache.conf"))
        .env("SOURCE", folder)
        .ready("/secure/user.shtml");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        mia.visit(&running.at("/secure/user.shtml")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs oidc-agent: `cargo xtask e2e clients --all` runs it"]
async fn oidc_agent_signs_in_and_refreshes() {
    let site = super::site().await;
    for algorithm in ["RS256", "ES256"] {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let redirect_uri = format!("http://localhost:{port}");
        let more = ["--id-token-signed-response-alg", algorithm];
        let client = site.client("oidc-agent", &redirect_uri, &more);
        let mut program = Command::new("bash");
        program.arg(source("servers/oidc_agent/sign_in.sh"));
        program.env("REDIRECT_URI", &redirect_uri);
        let said = visited(&site, &mut program, &client).await;
        said.has("User:", EMAIL);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SSSD: `cargo xtask e2e clients --all` runs it"]
async fn sssd_signs_in_with_a_device_code() {
    let site = super::site().await;
    for algorithm in ["RS256", "ES256"] {
        let more = ["--id-token-signed-response-alg", algorithm, "--public"];
        let more = [&more[..], &["--grant-type", "device_code"]].concat();
        let client = site.client("A server", "http://127.0.0.1/", &more);
        let mut program = Command::new("bash");
        program.arg(source("servers/sssd/sign_in.sh"));
        let said = device_visited(&site, &mut program, &client).await;
        said.has("User:", "mia");
    }
}
