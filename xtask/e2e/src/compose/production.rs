//! Installs deploy/compose.production.yml as an operator does: secrets from files, TLS, a mail server.

use super::engine::Engine;
use super::stack::Stack;
use super::{PATIENCE, SERVERS};
use crate::faults::mail::Mail;
use serde_json::{Value, json};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use xtask_fixtures::http::text;
use xtask_kit::cmd::{Result, fail, output, wait_until};
use xtask_kit::env_vars;

const IDENTITY: &str = "accounts.localhost";
const WORKSESSION: &str = "focus.localhost";
/// A user id other than root's.
const INSTALLER: u32 = 1_000;
const RECIPIENT: &str = "ada@example.org";

/// The variables of the example, filled in. Caddy is its own authority, because no public one reaches this machine.
const FILLED_IN: [(&str, &str); 5] = [
    ("HOLDFAST_IDENTITY_BASE_URL", "https://accounts.localhost"),
    ("HOLDFAST_WORKSESSION_BASE_URL", "https://focus.localhost"),
    ("HOLDFAST_SMTP_FROM", "Holdfast <no-reply@example.org>"),
    ("HOLDFAST_SMTP_URL_FILE", "/keys/smtp-url"),
    ("HOLDFAST_CADDY_GLOBAL", "local_certs"),
];

/// Tests a separate compose project with this number, from the secrets to the first mail.
pub(super) fn production(
    engine: &Engine,
    images: &[(String, String)],
    number: u8,
) -> Result<String> {
    let mut stack = Stack::new(engine, images, number)?;
    let installed = install(&mut stack);
    if installed.is_err() {
        stack.print_logs();
    }
    installed
}

fn install(stack: &mut Stack<'_>) -> Result<String> {
    let mail = Mail::start("0.0.0.0")?;
    let secrets = Secrets::make()?;
    stack.set(
        "HOLDFAST_SECRETS",
        &secrets.folder.path().display().to_string(),
    );
    stack.produce(&filled_in()?)?;

    match stack.up(&[]) {
        Ok(()) => return fail("it starts without the name of a mail server"),
        Err(_) => stack.says(
            "keys",
            "secrets/smtp-url does not name your mail server yet",
        )?,
    }
    secrets.name_mail_server(mail.port)?;
    stack.up(&[])?;
    stack.wait_healthy(&SERVERS, PATIENCE)?;
    stack.wait_healthy(&["proxy"], PATIENCE)?;
    for (service, name) in [
        ("identity-service", "signing-key"),
        ("notifier", "shared-key"),
    ] {
        let held = stack.exec(service, &["cat", &format!("/keys/{name}")])?;
        if held.trim() != secrets.read(name)?.trim() {
            return fail(format!("{service} has a different {name} from the file"));
        }
    }
    let mut visitor = Visitor::new(stack, secrets.folder.path())?;
    doors(&visitor)?;
    work(&mut visitor)?;
    wait_until(
        PATIENCE,
        Duration::from_millis(50),
        "the mail to a new account did not reach the mail server",
        || Ok(mail.taken().get(RECIPIENT) == Some(&1)),
    )?;
    Ok("secrets from files, verified TLS, http to https, a mail delivered".to_owned())
}

fn filled_in() -> Result<String> {
    let example = std::fs::read_to_string(env_vars::root().join("deploy/production.example.env"))?;
    let mut lines: Vec<String> = example.lines().map(str::to_owned).collect();
    for (name, value) in FILLED_IN {
        let mut named = lines
            .iter_mut()
            .filter(|line| line.starts_with(&format!("{name}=")));
        match named.next() {
            Some(line) => *line = format!("{name}={value}"),
            None => return fail(format!("production.example.env does not name {name}")),
        }
    }
    Ok(lines.join("\n"))
}

/// Checks the redirect to https, the paths that the proxy closes, and the issuer.
fn doors(visitor: &Visitor) -> Result {
    let (status, location) = visitor.plainly(IDENTITY, "/api/auth/validate")?;
    if status != 308 || location != format!("https://{IDENTITY}/api/auth/validate") {
        return fail(format!("http is answered with {status} to {location:?}"));
    }
    for site in [IDENTITY, WORKSESSION] {
        for path in ["/metrics", "/health", "/health/ready"] {
            let (status, body) = visitor.ask("GET", site, path, &Value::Null)?;
            if status != 404 {
                return fail(format!("{site}{path} is public: {status} {body}"));
            }
        }
    }
    let path = "/.well-known/openid-configuration";
    let told = visitor.good("GET", IDENTITY, path, &Value::Null)?;
    let issuer = text(&told, "/issuer");
    if issuer != "https://accounts.localhost" {
        return fail(format!("the issuer is {issuer:?}"));
    }
    Ok(())
}

/// Creates an account with an e-mail address, a team and a project, starts a session, and tries a hook without TLS.
fn work(visitor: &mut Visitor) -> Result {
    let login = json!({"username": "ada", "password": "correct horse battery", "email": RECIPIENT});
    let pair = visitor.good("POST", IDENTITY, "/api/auth/register", &login)?;
    text(&pair, "/access_token").clone_into(&mut visitor.token);
    let team = json!({"name": "Engines", "slug": "engines"});
    let team = visitor.good("POST", IDENTITY, "/api/teams", &team)?;
    let project =
        json!({"team_id": team.pointer("/team/id"), "name": "Notes", "chat_channel": "#focus"});
    let project = visitor.good("POST", WORKSESSION, "/api/team-projects", &project)?;
    let id = project.pointer("/id").and_then(Value::as_i64);
    let id = id.unwrap_or_default();
    let path = format!("/api/team-projects/{id}/chat");
    let hook = |scheme: &str| json!({"provider": "slack", "webhook_url": format!("{scheme}://chat.example.org/hook")});
    let (status, body) = visitor.ask("PUT", WORKSESSION, &path, &hook("http"))?;
    if status != 400 {
        return fail(format!("a hook without TLS returns {status} {body}"));
    }
    // Only the scheme was invalid.
    visitor.good("PUT", WORKSESSION, &path, &hook("https"))?;
    let start = json!({"category": "writing", "duration": 25, "project_id": format!("team_{id}")});
    let path = "/api/clienta_timer_start";
    visitor.good("POST", WORKSESSION, path, &start)?;
    Ok(())
}

/// Secrets as the script makes them, in a folder that is deleted after the run.
struct Secrets {
    folder: TempDir,
}

impl Secrets {
    fn make() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut script = Command::new("sh");
        script
            .current_dir(env_vars::root())
            .arg("deploy/compose/secrets.sh");
        output(script.arg(folder.path()))?;
        // An installer need not be root, as this tool is.
        for entry in std::fs::read_dir(folder.path())? {
            chown(entry?.path(), Some(INSTALLER), Some(INSTALLER))?;
        }
        chown(folder.path(), Some(INSTALLER), Some(INSTALLER))?;
        Ok(Self { folder })
    }

    fn read(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.path().join(name))?)
    }

    fn name_mail_server(&self, port: u16) -> Result {
        let url = format!("smtp://host.docker.internal:{port}");
        Ok(std::fs::write(self.folder.path().join("smtp-url"), url)?)
    }
}

/// A client outside the proxy, which trusts the proxy's own authority.
struct Visitor {
    http: String,
    https: String,
    authority: PathBuf,
    /// Empty until the account exists.
    token: String,
}

impl Visitor {
    fn new(stack: &Stack<'_>, folder: &Path) -> Result<Self> {
        let root = "/data/caddy/pki/authorities/local/root.crt";
        let authority = folder.join("authority.crt");
        std::fs::write(&authority, stack.exec("proxy", &["cat", root])?)?;
        Ok(Self {
            http: stack.port("HOLDFAST_HTTP_PORT")?.to_owned(),
            https: stack.port("HOLDFAST_HTTPS_PORT")?.to_owned(),
            authority,
            token: String::new(),
        })
    }

    /// Returns the status of a request without TLS, and the location it redirects to.
    fn plainly(&self, site: &str, path: &str) -> Result<(u16, String)> {
        let said = output(
            Command::new("curl")
                .args(["-sS", "-o", "/dev/null"])
                .args(["-w", "%{http_code} %header{location}"])
                .args(["-H", &format!("Host: {site}")])
                .arg(format!("http://127.0.0.1:{}{path}", self.http)),
        )?;
        let (status, location) = said.split_once(' ').unwrap_or((said.trim(), ""));
        Ok((status.parse()?, location.to_owned()))
    }

    /// Returns status and body; fails if the certificate is not for `site`.
    fn ask(&self, method: &str, site: &str, path: &str, body: &Value) -> Result<(u16, String)> {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-X", method, "-w", "\n%{http_code}"])
            .arg("--cacert")
            .arg(&self.authority)
            .args(["--resolve", &format!("{site}:{}:127.0.0.1", self.https)])
            .args(["-H", "Content-Type: application/json"]);
        if !self.token.is_empty() {
            curl.args(["-H", &format!("Authorization: Bearer {}", self.token)]);
        }
        if !body.is_null() {
            curl.args(["--data", &body.to_string()]);
        }
        let said = output(curl.arg(format!("https://{site}:{}{path}", self.https)))?;
        match said.rsplit_once('\n') {
            Some((body, status)) => Ok((status.trim().parse()?, body.to_owned())),
            None => fail(format!("curl printed {said:?}")),
        }
    }

    /// Returns the JSON of a response; fails unless the status is 2xx.
    fn good(&self, method: &str, site: &str, path: &str, body: &Value) -> Result<Value> {
        match self.ask(method, site, path, body)? {
            (200..=299, text) => Ok(serde_json::from_str(&text)?),
            (status, text) => fail(format!("{method} {site}{path}: {status} {text}")),
        }
    }
}
