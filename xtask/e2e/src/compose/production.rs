//! deploy/compose.production.yml as whoever installs it does: secrets from files, TLS, a mail server.

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
use xtask_kit::cmd::{Result, fail, output, wait_until};
use xtask_kit::envs;
use xtask_stand::http::text;

const IDENTITY: &str = "accounts.localhost";
const WORKSESSION: &str = "focus.localhost";
/// An account that is not root's.
const INSTALLER: u32 = 1_000;
const RECIPIENT: &str = "ada@example.org";

/// The example's variables, filled in as it says; Caddy signs by itself, because no authority reaches this machine.
const FILLED_IN: [(&str, &str); 5] = [
    ("HOLDFAST_IDENTITY_BASE_URL", "https://accounts.localhost"),
    ("HOLDFAST_WORKSESSION_BASE_URL", "https://focus.localhost"),
    ("HOLDFAST_SMTP_FROM", "Holdfast <no-reply@example.org>"),
    ("HOLDFAST_SMTP_URL_FILE", "/keys/smtp-url"),
    ("HOLDFAST_CADDY_GLOBAL", "local_certs"),
];

/// A project of its own with `number`, from the secrets to the first mail.
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
        Ok(()) => return fail("it starts without a mail server being named"),
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
            return fail(format!("{service} has another {name} than the file"));
        }
    }
    let mut visitor = Visitor::new(stack, secrets.folder.path())?;
    doors(&visitor)?;
    work(&mut visitor)?;
    wait_until(
        PATIENCE,
        Duration::from_millis(50),
        "the mail server was not given the mail to a new account",
        || Ok(mail.taken().get(RECIPIENT) == Some(&1)),
    )?;
    Ok("secrets of files, TLS with verified names, http to https, a mail delivered".to_owned())
}

fn filled_in() -> Result<String> {
    let example = std::fs::read_to_string(envs::root().join("deploy/production.example.env"))?;
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

/// Who may come in where.
fn doors(visitor: &Visitor) -> Result {
    let (status, location) = visitor.plainly(IDENTITY, "/api/auth/validate")?;
    if status != 308 || location != format!("https://{IDENTITY}/api/auth/validate") {
        return fail(format!("http is answered by {status} to {location:?}"));
    }
    for site in [IDENTITY, WORKSESSION] {
        for path in ["/metrics", "/health", "/health/ready"] {
            let (status, body) = visitor.ask("GET", site, path, &Value::Null)?;
            if status != 404 {
                return fail(format!("{site}{path} is for everybody: {status} {body}"));
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

/// An account with an address for mails, a team, a start, and a hook that may not be.
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
        return fail(format!("a hook without TLS is answered by {status} {body}"));
    }
    // The scheme is all that was wrong.
    visitor.good("PUT", WORKSESSION, &path, &hook("https"))?;
    let start = json!({"category": "writing", "duration": 25, "project_id": format!("team_{id}")});
    let path = "/api/clienta_timer_start";
    visitor.good("POST", WORKSESSION, path, &start)?;
    Ok(())
}

/// Secrets as the script makes them, in a folder that goes with the run.
struct Secrets {
    folder: TempDir,
}

impl Secrets {
    fn make() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut script = Command::new("sh");
        script
            .current_dir(envs::root())
            .arg("deploy/compose/secrets.sh");
        output(script.arg(folder.path()))?;
        // Whoever installs it need not be root, as this tool is.
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

/// Somebody on the other side of the proxy, who believes the authority that it made.
struct Visitor {
    http: String,
    https: String,
    authority: PathBuf,
    /// Empty until there is an account.
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

    /// The status of a request without TLS, and where it is sent.
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

    /// Status and body; a certificate that is not for `site` fails.
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
            None => fail(format!("curl said {said:?}")),
        }
    }

    /// The JSON of an answer that must be good.
    fn good(&self, method: &str, site: &str, path: &str, body: &Value) -> Result<Value> {
        match self.ask(method, site, path, body)? {
            (200..=299, text) => Ok(serde_json::from_str(&text)?),
            (status, text) => fail(format!("{method} {site}{path}: {status} {text}")),
        }
    }
}
