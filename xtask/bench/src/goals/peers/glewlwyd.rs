//! glewlwyd from Debian, a single sign-on server in C, with all its data in SQLite.

use super::Peer;
use super::tokens::{TokenPeer, form};
use crate::load::at_once;
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use xtask_fixtures::fresh_folder_on_disk;
use xtask_fixtures::http::{Client, text};
use xtask_fixtures::servers;
use xtask_kit::cmd::{Context, Result, fail, output};
use xtask_kit::env_vars;

pub(in crate::goals) const GLEWLWYD: TokenPeer = TokenPeer {
    name: "glewlwyd",
    described: "glewlwyd 2.7.5 of Debian 12, SQLite",
    prepare,
    introspection: "/api/bench/introspect",
    token: "/api/bench/token",
};

/// The version that the published figures describe.
const VERSION: &str = "2.7.5";
/// The libraries that its package needs on Debian 12. The package itself is only unpacked: installed, it would start a service.
const LIBRARIES: [&str; 11] = [
    "libcbor0.8",
    "libconfig9",
    "libhoel1.4",
    "libiddawc1.1",
    "libjansson4",
    "libldap-2.5-0",
    "liboath0",
    "liborcania2.3",
    "librhonabwy1.1",
    "libulfius2.7",
    "libyder2.0",
];
/// The settings for the folders of each kind of module, and these folders below that of all modules.
const MODULES: [(&str, &str); 5] = [
    ("user_module_path", "user"),
    ("user_middleware_module_path", "user_middleware"),
    ("client_module_path", "client"),
    ("user_auth_scheme_module_path", "scheme"),
    ("plugin_module_path", "plugin"),
];
/// Concurrent sign-ins.
const SIGNING_IN: usize = 8;

/// Prepares a server with this many access and refresh tokens of users, and the plugin that issues them.
fn prepare(access: usize, refresh: usize) -> Result<Peer> {
    let package = install()?;
    let folder = fresh_folder_on_disk("peer-")?;
    make_database(&package, &folder.path().join("glewlwyd.db"))?;
    let config = folder.path().join("glewlwyd.conf");
    std::fs::write(&config, settings(&package, folder.path()))?;
    let program = package.join("usr/bin/glewlwyd");
    let command = move |port: u16| {
        let mut command = Command::new(&program);
        command.arg(format!("--port={port}"));
        command.arg(format!("--config-file={}", config.display()));
        command
    };
    let mut peer = Peer {
        command: Box::new(command),
        ready: "/config",
        folder,
    };
    let running = peer.start()?;
    configure(&running.address, peer.folder.path())?;
    for (file, kind, count) in [
        ("access", "/access_token", access),
        ("refresh", "/refresh_token", refresh),
    ] {
        let tokens = sign_in(&running.address, kind, count)?;
        std::fs::write(peer.folder.path().join(file), tokens.join("\n"))?;
    }
    drop(running);
    peer.ready = "/api/bench/.well-known/openid-configuration";
    Ok(peer)
}

/// Unpacks its package and returns the folder.
fn install() -> Result<PathBuf> {
    for program in ["sqlite3", "openssl"] {
        if env_vars::which(program).is_none() {
            servers::install(&[program])?;
        }
    }
    let folder = env_vars::target_dir().join("e2e/glewlwyd");
    let program = folder.join("usr/bin/glewlwyd");
    if !program.is_file() {
        servers::unpack("glewlwyd", &folder)?;
        // Debian has no module of this kind, and the program logs an error if the folder is missing.
        std::fs::create_dir_all(folder.join("usr/lib/glewlwyd/user_middleware"))?;
    }
    let version = || output(Command::new(&program).arg("--version"));
    if version().is_err() {
        servers::install(&LIBRARIES)?;
    }
    match version()?.trim() {
        VERSION => Ok(folder),
        other => fail(format!("glewlwyd has version {other}, not {VERSION}")),
    }
}

fn make_database(package: &Path, file: &Path) -> Result {
    let tables = package.join("usr/share/dbconfig-common/data/glewlwyd/install/sqlite3");
    let mut sqlite = Command::new("sqlite3");
    sqlite.arg("-bail").arg(file).stdin(File::open(&tables)?);
    match sqlite.stdout(Stdio::null()).status()?.success() {
        true => Ok(()),
        false => fail(format!("sqlite3 failed on {}", tables.display())),
    }
}

/// Returns the settings that differ from the defaults.
fn settings(package: &Path, folder: &Path) -> String {
    let modules = MODULES.map(|(setting, kind)| {
        let path = package.join("usr/lib/glewlwyd").join(kind);
        format!("{setting}=\"{}\"\n", path.display())
    });
    format!(
        "bind_address=\"127.0.0.1\"\nexternal_url=\"http://127.0.0.1\"\napi_prefix=\"api\"\n\
         log_mode=\"file\"\nlog_level=\"WARNING\"\nlog_file=\"{log}\"\ncookie_secure=0\n\
         static_files_path=\"{empty}\"\n{modules}\
         database = {{ type = \"sqlite3\"; path = \"{database}\" }};\n",
        log = folder.join("log").display(),
        empty = folder.display(),
        modules = modules.concat(),
        database = folder.join("glewlwyd.db").display(),
    )
}

/// Creates a client, and the plugin that issues tokens for it, with the same kind of signature as the product.
fn configure(address: &str, folder: &Path) -> Result {
    let mut client = Client::new(address, "");
    let person = json!({"username": "admin", "password": "password"}).to_string();
    let answer = client.ask("POST", "/api/auth/", "", &person)?;
    let cookies = answer.all("set-cookie");
    let cookies: Vec<&str> = cookies
        .filter_map(|cookie| cookie.split(';').next())
        .collect();
    let headers = format!("Cookie: {}\r\n", cookies.join("; "));
    let (key, certificate) = key_pair(folder)?;
    let application = json!({
        "client_id": "bench", "name": "Bench", "enabled": true, "confidential": true,
        "client_secret": "a-secret-that-only-the-bench-knows-0001",
        "token_endpoint_auth_method": ["client_secret_basic"],
        "authorization_type": ["password", "refresh_token", "client_credentials"],
    });
    let plugin = json!({
        "module": "oidc", "name": "bench", "display_name": "Bench", "enabled": true,
        "parameters": {
            "iss": "http://127.0.0.1", "jwt-type": "ecdsa", "jwt-key-size": "256", "key": key, "cert": certificate,
            "code-duration": 600, "access-token-duration": 3600, "refresh-token-duration": 1_209_600,
            "refresh-token-one-use": "always", "allow-non-oidc": true, "auth-type-code-enabled": true,
            "auth-type-client-enabled": true, "auth-type-password-enabled": true, "auth-type-refresh-enabled": true,
            "introspection-revocation-allowed": true, "introspection-revocation-allow-target-client": true,
        },
    });
    for (path, body) in [("/api/client/", application), ("/api/mod/plugin/", plugin)] {
        let (status, said) = client.send_with("POST", path, &headers, &body.to_string())?;
        if status != 200 {
            return fail(format!("glewlwyd, {path}: {status} {said}"));
        }
    }
    Ok(())
}

/// Creates a key pair for ES256, in PEM.
fn key_pair(folder: &Path) -> Result<(String, String)> {
    let file = folder.join("key.pem");
    let openssl = |arguments: &[&str], file: &Path| {
        output(Command::new("openssl").args(arguments).arg(file)).context(|| "openssl".to_owned())
    };
    openssl(
        &[
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
        ],
        &file,
    )?;
    let public = openssl(&["ec", "-pubout", "-in"], &file)?;
    Ok((std::fs::read_to_string(&file)?, public))
}

/// Signs in this many times, and returns one kind of token of each sign-in.
fn sign_in(address: &str, kind: &str, count: usize) -> Result<Vec<String>> {
    let next = AtomicUsize::new(0);
    let person = "grant_type=password&scope=g_profile&username=admin&password=password";
    let made = at_once(SIGNING_IN, |_| {
        let (mut client, mut made) = (Client::new(address, ""), Vec::new());
        while next.fetch_add(1, Ordering::Relaxed) < count {
            let (status, said) = client.send_with("POST", GLEWLWYD.token, &form(), person)?;
            let pair: Value = serde_json::from_str(&said).unwrap_or_default();
            match text(&pair, kind) {
                "" => return fail(format!("sign-in at glewlwyd failed: {status} {said}")),
                token => made.push(token.to_owned()),
            }
        }
        Ok(made)
    })?;
    Ok(made.into_iter().flatten().collect())
}
