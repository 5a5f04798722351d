//! Real processes: `holdfast`, or each part by itself on PostgreSQL and RabbitMQ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use test_kit::{ApiClient, Process, TestBroker, TestDb};

const PARTS: [&str; 3] = ["IDENTITY", "WORKSESSION", "NOTIFIER"];

/// The environment variables of a program.
pub type Env = BTreeMap<String, String>;

/// Starts `holdfast` with this data directory, arguments and environment.
pub fn holdfast(data: &Path, args: &[&str], env: &Env) -> Process {
    let mut all = vec!["--data-dir", data.to_str().unwrap()];
    all.extend(args);
    Process::start(Path::new(env!("CARGO_BIN_EXE_holdfast")), &all, env)
}

/// Returns what every test needs: free ports, fast hashes, permission to call the fake chat, no wait at the end.
pub fn quick() -> Env {
    let mut env = Env::new();
    for part in PARTS {
        env.insert(format!("{part}__LISTEN"), "127.0.0.1:0".into());
        env.insert(format!("{part}__DRAIN_SECONDS"), "0".into());
    }
    for (key, value) in [
        ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
        ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
        // Tokens stay valid when a restarted process gets another port.
        ("IDENTITY__BASE_URL", "http://localhost"),
        ("WORKSESSION__HTTP__ALLOW_PLAIN", "true"),
        ("NOTIFIER__HTTP__ALLOW_PLAIN", "true"),
        ("NOTIFIER__HTTP__ALLOWED_CIDRS", "127.0.0.0/8"),
    ] {
        env.insert(key.into(), value.into());
    }
    env
}

/// A database for each part, and a broker.
pub struct Servers {
    broker: TestBroker,
    databases: [TestDb; 3],
}

impl Servers {
    /// Creates them on the backend of this test run.
    pub fn fresh() -> Self {
        Self {
            broker: TestBroker::fresh(),
            databases: PARTS.map(|part| TestDb::empty(&part.to_lowercase())),
        }
    }

    /// Configures the parts to use them.
    pub fn set_into(&self, env: &mut Env) {
        for (part, database) in PARTS.iter().zip(&self.databases) {
            env.insert(format!("{part}__DATABASE__URL"), database.url().into());
            env.insert(format!("{part}__BROKER__URL"), self.broker.url().into());
            let prefix = self.broker.prefix().into();
            env.insert(format!("{part}__BROKER__PREFIX"), prefix);
        }
    }
}

/// The product as processes that can be killed and restarted at the same addresses.
pub struct Deployment {
    members: Vec<Member>,
    pub identity: ApiClient,
    pub work: ApiClient,
    _servers: Option<Servers>,
    _data: TempDir,
}

struct Member {
    program: PathBuf,
    args: Vec<String>,
    env: Env,
    names: Vec<&'static str>,
    process: Process,
}

impl Deployment {
    /// Starts everything in one process, on SQLite and the memory broker.
    pub fn standalone() -> Self {
        let data = tempfile::tempdir().unwrap();
        let args = ["--data-dir", data.path().to_str().unwrap(), "serve"]
            .map(str::to_owned)
            .to_vec();
        let names = vec!["identity", "worksession", "notifier"];
        let member = Member::start(env!("CARGO_BIN_EXE_holdfast").into(), args, quick(), names);
        Self::new(vec![member], None, data)
    }

    /// Starts each part by itself, on PostgreSQL and RabbitMQ.
    pub fn separate() -> Self {
        let data = tempfile::tempdir().unwrap();
        let servers = Servers::fresh();
        let mut env = quick();
        servers.set_into(&mut env);
        for part in PARTS {
            let folder = data.path().to_str().unwrap();
            env.insert(format!("{part}__DATA_DIR"), folder.into());
        }
        for part in ["IDENTITY", "WORKSESSION"] {
            env.insert(format!("{part}__RATE_LIMITS__ENABLED"), "false".into());
        }
        let identity = Member::start(
            beside("identity-service"),
            vec![],
            env.clone(),
            vec!["identity"],
        );
        let url = identity.process.wait_listening(&["identity"])["identity"].clone();
        env.insert("WORKSESSION__IDENTITY_URL".into(), url);
        let worksession = Member::start(
            beside("worksession-service"),
            vec![],
            env.clone(),
            vec!["worksession"],
        );
        let notifier = Member::start(beside("notifier"), vec![], env, vec!["notifier"]);
        Self::new(vec![identity, worksession, notifier], Some(servers), data)
    }

    /// Returns the number of processes.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Kills one process with `kill -9`, and starts it again on what it left behind.
    pub fn kill_and_restart(&mut self, index: usize) {
        let member = &mut self.members[index];
        member.process.kill();
        member.process = Process::start(&member.program, &member.args(), &member.env);
        member.process.wait_listening(&member.names);
    }

    fn new(mut members: Vec<Member>, servers: Option<Servers>, data: TempDir) -> Self {
        let mut urls = BTreeMap::new();
        for member in &mut members {
            for (name, url) in member.process.wait_listening(&member.names) {
                let listen = url.strip_prefix("http://").unwrap().to_owned();
                member
                    .env
                    .insert(format!("{}__LISTEN", name.to_uppercase()), listen);
                urls.insert(name, url);
            }
        }
        let api = |name: &str| ApiClient::new(urls[name].as_str());
        Self {
            identity: api("identity"),
            work: api("worksession"),
            members,
            _servers: servers,
            _data: data,
        }
    }
}

impl Member {
    fn start(program: PathBuf, args: Vec<String>, env: Env, names: Vec<&'static str>) -> Self {
        let process = Process::start(
            &program,
            &args.iter().map(String::as_str).collect::<Vec<_>>(),
            &env,
        );
        Self {
            program,
            args,
            env,
            names,
            process,
        }
    }

    fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }
}

/// Returns the path of another binary of the workspace, which cargo puts into the same folder.
fn beside(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_holdfast")).with_file_name(name);
    assert!(
        path.exists(),
        "{} is not built: cargo build --workspace",
        path.display()
    );
    path
}
