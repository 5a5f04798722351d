//! Third-party applications that run beside a site whose clients they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use test_kit::{ApiClient, Process, setting, wait_until};
use tokio::net::TcpListener;
use url::Url;

use super::tool;
use crate::forms::{Page, Person};
use crate::site::Site;

/// More than a busy machine takes to load a large application.
const PATIENCE: Duration = Duration::from_secs(120);

/// How an application is started, and what it uses of a site.
pub struct Application {
    program: PathBuf,
    args: Vec<String>,
    env: BTreeMap<&'static str, String>,
    /// The path of the redirect URI.
    callback: &'static str,
    /// A page that exists as soon as the application is ready.
    ready: &'static str,
    algorithms: &'static [&'static str],
    scopes: &'static [&'static str],
    /// Further options of the client. `BASE_URL` in them stands for the address of the application.
    options: &'static [&'static str],
}

/// An application that runs and is a client of the site.
pub struct Running {
    pub base: String,
    process: Process,
    _data: TempDir,
}

impl Application {
    pub fn new(program: impl Into<PathBuf>, callback: &'static str) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            callback,
            ready: "/",
            algorithms: &["RS256", "ES256"],
            scopes: &["openid", "profile", "email"],
            options: &[],
        }
    }

    /// Creates an application for Node.js; `script` is in its folder.
    pub fn node(folder: &str, script: &str, callback: &'static str) -> Self {
        Self::new(tool("NODE"), callback).arg(installed(folder).join(script))
    }

    pub fn arg(mut self, arg: impl AsRef<Path>) -> Self {
        self.args.push(arg.as_ref().to_str().unwrap().to_owned());
        self
    }

    pub fn env(mut self, name: &'static str, value: impl AsRef<Path>) -> Self {
        self.env
            .insert(name, value.as_ref().to_str().unwrap().to_owned());
        self
    }

    pub fn ready(mut self, path: &'static str) -> Self {
        self.ready = path;
        self
    }

    /// Leaves out ES256, which the application does not know.
    pub fn only_rs256(mut self) -> Self {
        self.algorithms = &["RS256"];
        self
    }

    pub fn scopes(mut self, scopes: &'static [&'static str]) -> Self {
        self.scopes = scopes;
        self
    }

    /// Registers the client with further options, in which `BASE_URL` stands for the address of the application.
    pub fn registered_with(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }

    /// Signs mia in with each algorithm. In the end, the application has to show `expected`.
    pub async fn shows(
        self,
        expected: &str,
        mut sign_in: impl AsyncFnMut(&Running, &mut Person<'_>) -> Page,
    ) {
        self.runs(async |running, mia| {
            let page = sign_in(running, mia).await;
            assert_eq!(page.reply.status, 200, "{page:?}");
            page.shows(expected);
        })
        .await;
    }

    /// Runs a scene with mia, who is signed in to Holdfast, with each algorithm.
    pub async fn runs(self, mut scene: impl AsyncFnMut(&Running, &mut Person<'_>)) {
        let site = super::site().await;
        for algorithm in self.algorithms {
            let running = self.start(&site, algorithm).await;
            let mut mia = Person::signed_in(&site, "mia").await;
            eprintln!("with {algorithm}");
            scene(&running, &mut mia).await;
        }
    }

    async fn start(&self, site: &Site, algorithm: &'static str) -> Running {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let base = format!("http://{address}");
        let redirect_uri = format!("{base}{}", self.callback);
        let mut more = vec!["--id-token-signed-response-alg", algorithm, "--scope"];
        more.extend(self.scopes);
        let options = self.options.iter();
        let options: Vec<_> = options.map(|it| it.replace("BASE_URL", &base)).collect();
        more.extend(options.iter().map(String::as_str));
        let client = site.client("An application", &redirect_uri, &more);
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().to_str().unwrap().to_owned();
        let authority = site.authority.clone().unwrap();
        let mut env = BTreeMap::from([
            ("HOLDFAST", site.base.clone()),
            ("CLIENT_ID", client.id),
            ("CLIENT_SECRET", client.secret),
            ("ALGORITHM", algorithm.to_owned()),
            ("BASE_URL", base.clone()),
            ("LISTEN", address.to_string()),
            ("PORT", address.port().to_string()),
            ("DATA", folder.clone()),
            ("HOME", folder),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("NODE_OPTIONS", setting("NODE_OPTIONS").unwrap_or_default()),
            // The name that each runtime has for the file of further authorities.
            ("REQUESTS_CA_BUNDLE", authority.clone()),
            ("NODE_EXTRA_CA_CERTS", authority.clone()),
            ("SSL_CERT_FILE", authority),
            ("NO_PROXY", "localhost,127.0.0.1".to_owned()),
        ]);
        env.extend(self.env.clone());
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut process = Process::start(&self.program, &args, env);
        let api = ApiClient::new(&base);
        wait_until("the application to be ready", PATIENCE, async || {
            assert!(!process.ended(), "it has ended: {}", process.stdout());
            let reply = api.get(self.ready).try_send().await.ok()?;
            (reply.status < 404).then_some(())
        })
        .await;
        Running {
            base,
            process,
            _data: data,
        }
    }
}

impl Running {
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub fn port(&self) -> Option<u16> {
        Url::parse(&self.base).unwrap().port()
    }

    pub fn api(&self) -> ApiClient {
        ApiClient::new(&self.base)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An application that is killed leaves its own processes behind.
        if !self.process.ended() {
            self.process.terminate();
        }
    }
}

/// Returns a file of this folder's neighbours.
pub fn source(path: &str) -> PathBuf {
    tool("SOURCES").join(path)
}

/// Returns the folder in which the packages of a folder of sources are installed.
pub fn installed(folder: &str) -> PathBuf {
    tool("INSTALLED").join(folder)
}
