//! A real Matrix server and its users.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use test_kit::{ApiClient, Process, setting, wait_until};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// More than a busy machine takes to load all of its Python.
const PATIENCE: Duration = Duration::from_secs(90);

/// A Synapse on loopback that belongs to the test; stopped when this is dropped.
pub struct Synapse {
    pub address: SocketAddr,
    _process: Process,
    _data: TempDir,
}

/// A signed-in user.
pub struct Member {
    pub id: String,
    pub token: String,
    api: ApiClient,
    /// The position up to which the member has read.
    since: Option<String>,
}

impl Synapse {
    pub async fn start() -> Self {
        let python = PathBuf::from(
            setting("HOLDFAST_E2E_SYNAPSE").expect("`cargo xtask e2e chat` names it"),
        );
        let data = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let config = data.path().join("homeserver.yaml");
        std::fs::write(&config, settings(data.path(), address).to_string()).unwrap();
        let run = [
            "-m",
            "synapse.app.homeserver",
            "-c",
            config.to_str().unwrap(),
        ];
        let keys = Command::new(&python)
            .args(run)
            .arg("--generate-keys")
            .output();
        let keys = keys.unwrap();
        assert!(keys.status.success(), "{keys:?}");
        let process = Process::start(&python, &run, [("HOME", data.path())]);
        let listening = async || TcpStream::connect(address).await.ok().map(drop);
        wait_until("Synapse to listen", PATIENCE, listening).await;
        Self {
            address,
            _process: process,
            _data: data,
        }
    }

    pub async fn register(&self, name: &str) -> Member {
        let api = ApiClient::new(format!("http://{}/_matrix/client/v3", self.address));
        let body = json!({"username": name, "password": "correct horse battery", "auth": {"type": "m.login.dummy"}});
        let made = api
            .post("/register")
            .json(body)
            .send()
            .await
            .expect(200)
            .json();
        Member {
            id: text(&made["user_id"]),
            token: text(&made["access_token"]),
            api,
            since: None,
        }
    }
}

/// Returns the settings in JSON, which is valid YAML.
fn settings(data: &Path, address: SocketAddr) -> Value {
    let at_will = json!({"per_second": 1_000, "burst_count": 1_000});
    json!({
        "server_name": "matrix.test",
        "listeners": [{
            "port": address.port(), "type": "http", "tls": false, "bind_addresses": ["127.0.0.1"],
            "resources": [{"names": ["client"]}]
        }],
        "database": {"name": "sqlite3", "args": {"database": data.join("synapse.db")}},
        "media_store_path": data.join("media"),
        "signing_key_path": data.join("signing.key"),
        "trusted_key_servers": [],
        "report_stats": false,
        "bcrypt_rounds": 4,
        "enable_registration": true,
        "enable_registration_without_verification": true,
        "rc_message": at_will,
        "rc_registration": at_will,
    })
}

impl Member {
    /// Creates a room, lets another user join it, and returns its id.
    pub async fn room_with(&self, other: &Member) -> String {
        let body = json!({"name": "Focus", "invite": [other.id]});
        let call = self.api.post("/createRoom").bearer(&self.token).json(body);
        let room = text(&call.send().await.expect(200).json()["room_id"]);
        let join = format!("/rooms/{}/join", room.replace('!', "%21"));
        let call = other.api.post(&join).bearer(&other.token).json(json!({}));
        call.send().await.expect(200);
        room
    }

    pub async fn leave(&self, room: &str) {
        let leave = format!("/rooms/{}/leave", room.replace('!', "%21"));
        let call = self.api.post(&leave).bearer(&self.token).json(json!({}));
        call.send().await.expect(200);
    }

    /// Revokes the token.
    pub async fn sign_out(&self) {
        let call = self.api.post("/logout").bearer(&self.token).json(json!({}));
        call.send().await.expect(200);
    }

    /// Reads until a message arrives; returns all messages that arrived with it.
    pub async fn read_on(&mut self, room: &str) -> Vec<Value> {
        loop {
            let since = self.since.as_ref().map(|since| format!("&since={since}"));
            let path = format!("/sync?timeout=10000{}", since.unwrap_or_default());
            let call = self.api.get(&path).bearer(&self.token);
            let news = call.send().await.expect(200).json();
            self.since = Some(text(&news["next_batch"]));
            let events = news["rooms"]["join"][room]["timeline"]["events"].as_array();
            let mut messages = events.cloned().unwrap_or_default();
            messages.retain(|event| event["type"] == "m.room.message");
            if !messages.is_empty() {
                return messages;
            }
        }
    }
}

/// A proxy before the server, which loses its first response.
pub struct Lossy {
    pub address: SocketAddr,
    /// The connections so far.
    count: Arc<AtomicUsize>,
}

impl Lossy {
    pub async fn before(server: SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let first = seen.fetch_add(1, Ordering::SeqCst) == 0;
                tokio::spawn(async move {
                    let mut inside = TcpStream::connect(server).await.unwrap();
                    if first {
                        let (mut from, _) = client.split();
                        let (mut answers, mut asks) = inside.split();
                        let mut answer = [0; 1];
                        tokio::select! {
                            _ = tokio::io::copy(&mut from, &mut asks) => {}
                            // The server has done it, but the client never knows.
                            _ = answers.read_exact(&mut answer) => {}
                        }
                        return;
                    }
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut inside).await;
                });
            }
        });
        Self { address, count }
    }

    pub fn connections(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}
