//! A running `holdfast` with its mails, its command line, and the users and clients that the tests need.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use test_kit::{ApiClient, Process, TestBroker, TlsProxy, wait_until};

pub const PASSWORD: &str = "correct horse battery";

/// Permission to call addresses of this machine.
const LOCAL: [(&str, &str); 3] = [
    ("WORKSESSION__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOW_PLAIN", "true"),
    ("NOTIFIER__HTTP__ALLOWED_CIDRS", "127.0.0.0/8"),
];

/// The cost of passwords at a public address, which a site on loopback may lower.
const PUBLIC: [(&str, &str); 2] = [
    ("IDENTITY__PASSWORD__BCRYPT_COST", "10"),
    ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "false"),
];

/// The product in one process on SQLite.
pub struct Site {
    /// The identity area, past the proxy if there is one.
    pub api: ApiClient,
    /// The work-session area.
    pub sessions: ApiClient,
    /// The public address.
    pub base: String,
    /// The file of the certificate authority, if the public address is https.
    pub authority: Option<String>,
    env: BTreeMap<String, String>,
    data: TempDir,
    process: Process,
    _front: Option<TlsProxy>,
}

/// An OAuth client, as the command line printed it.
pub struct Client {
    pub id: String,
    pub secret: String,
}

impl Site {
    /// Starts on plain http, like `cargo xtask up`.
    pub async fn plain() -> Self {
        Self::start(None, &[])
    }

    /// Starts like [`Self::plain`], with the ninety days of the demo data.
    pub async fn with_demo() -> Self {
        Self::serve(None, &[], &["serve", "--demo"])
    }

    /// Returns the username and the password of the demo user.
    pub fn demo(&self) -> (String, String) {
        let said = self.process.stderr();
        let line = said
            .lines()
            .find_map(|line| line.strip_prefix("demo sign-in: "));
        let (name, password) = line.unwrap().split_once(" / ").unwrap();
        (name.to_owned(), password.to_owned())
    }

    /// Starts like [`Self::plain`], with a public address to which no sign-in may be sent.
    pub async fn elsewhere() -> Self {
        Self::start(
            None,
            &[
                &[
                    ("WORKSESSION__BASE_URL", "http://work.example.com"),
                    ("WORKSESSION__ALLOW_INSECURE_COOKIES", "true"),
                ],
                &PUBLIC[..],
            ]
            .concat(),
        )
    }

    /// Starts like [`Self::plain`], with permission to call a chat on this machine.
    pub async fn beside_its_chat() -> Self {
        Self::start(None, &LOCAL)
    }

    /// Starts behind a TLS proxy, as in production, with permission to call applications on this machine.
    pub async fn secure() -> Self {
        Self::start(Some(TlsProxy::start().await), &LOCAL)
    }

    /// Starts behind a TLS proxy that has this name below `test`, which only browsers know.
    pub async fn named(host: &'static str) -> Self {
        Self::start(Some(TlsProxy::named(host).await), &PUBLIC)
    }

    /// Starts like [`Self::beside_its_chat`], with its events on RabbitMQ.
    pub fn on(broker: &TestBroker) -> Self {
        let more = [
            ("IDENTITY__BROKER__URL", broker.url()),
            ("IDENTITY__BROKER__PREFIX", broker.prefix()),
            ("WORKSESSION__BROKER__URL", broker.url()),
            ("WORKSESSION__BROKER__PREFIX", broker.prefix()),
            ("NOTIFIER__BROKER__URL", broker.url()),
            ("NOTIFIER__BROKER__PREFIX", broker.prefix()),
        ];
        Self::start(None, &[&LOCAL[..], &more].concat())
    }

    fn start(front: Option<TlsProxy>, more: &[(&str, &str)]) -> Self {
        Self::serve(front, more, &["serve"])
    }

    fn serve(front: Option<TlsProxy>, more: &[(&str, &str)], command: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut env = BTreeMap::new();
        for part in ["IDENTITY", "WORKSESSION", "NOTIFIER"] {
            env.insert(format!("{part}__LISTEN"), "127.0.0.1:0".to_owned());
            env.insert(format!("{part}__DRAIN_SECONDS"), "0".to_owned());
        }
        for (key, value) in [
            ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
            ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
        ]
        .iter()
        .chain(more)
        {
            env.insert((*key).to_owned(), (*value).to_owned());
        }
        if let Some(front) = &front {
            env.insert("IDENTITY__BASE_URL".to_owned(), front.url());
        }
        let folder = data.path().to_str().unwrap().to_owned();
        let program = Path::new(env!("CARGO_BIN_EXE_holdfast"));
        let process = Process::start(program, &[&["--data-dir", &folder], command].concat(), &env);
        let listening = process.wait_listening(&["identity", "worksession", "notifier"]);
        let inside = listening["identity"].clone();
        let authority = front.as_ref().map(|front| {
            let address = inside.strip_prefix("http://").unwrap();
            front.lead_to(address.parse().unwrap());
            let file = format!("{folder}/authority.pem");
            std::fs::write(&file, front.authority()).unwrap();
            file
        });
        Self {
            base: front.as_ref().map_or_else(|| inside.clone(), TlsProxy::url),
            api: ApiClient::new(inside),
            sessions: ApiClient::new(listening["worksession"].clone()),
            authority,
            env,
            data,
            process,
            _front: front,
        }
    }

    /// Returns what `holdfast admin identity …` prints with `--json`.
    pub fn admin(&self, args: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_holdfast"))
            .args(["--data-dir", self.data.path().to_str().unwrap()])
            .args(["admin", "identity"])
            .args(args)
            .arg("--json")
            .env_clear()
            .envs(&self.env)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Registers an OAuth client; a public one has an empty secret.
    pub fn client(&self, name: &str, redirect_uri: &str, more: &[&str]) -> Client {
        let mut args = vec!["clients", "create", "--name", name];
        args.extend(["--redirect-uri", redirect_uri]);
        args.extend(more);
        let made = self.admin(&args);
        Client {
            id: made["client_id"].as_str().unwrap().to_owned(),
            secret: made["client_secret"].as_str().unwrap_or("").to_owned(),
        }
    }

    /// Registers a user with [`PASSWORD`] and a mail address of that name; returns the access token.
    pub async fn register(&self, name: &str) -> String {
        let email = format!("{name}@example.com");
        let body = json!({"username": name, "password": PASSWORD, "email": email});
        let call = self.api.post("/api/auth/register").json(body);
        let pair = call.send().await.expect(201).json();
        pair["access_token"].as_str().unwrap().to_owned()
    }

    /// Waits for a mail to this address with a link to this path of the site; returns the newest link.
    pub async fn link_in_mail(&self, to: &str, path: &str) -> String {
        let folder = self.data.path().join("mail");
        let start = format!("{}{path}", self.base);
        let newest = || {
            let mut files: Vec<_> = std::fs::read_dir(&folder)
                .ok()?
                .map(|file| file.unwrap().path())
                .filter(|path| path.extension().is_some_and(|end| end == "eml"))
                .collect();
            files.sort();
            files.into_iter().rev().find_map(|file| {
                let raw = std::fs::read(file).unwrap();
                let mail = mail_parser::MessageParser::default().parse(&raw)?;
                if mail.to()?.first()?.address()? != to {
                    return None;
                }
                let text = mail.body_text(0)?;
                let words = text.split_whitespace();
                let mut links = words.filter(|word| word.starts_with(&start));
                links.next().map(str::to_owned)
            })
        };
        let what = format!("a mail to {to} with a link to {path}");
        wait_until(&what, Duration::from_secs(30), async || newest()).await
    }
}
