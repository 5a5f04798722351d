//! A team whose chat is a room on a real Matrix server, where a second member reads the messages.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use test_kit::wait_until;

use crate::site::Site;
use crate::synapse::{Lossy, Member, Synapse};

/// A room with a user who posts and one who reads, and a project of mia whose chat it becomes.
struct Stand {
    synapse: Synapse,
    poster: Member,
    reader: Member,
    room: String,
    site: Site,
    token: String,
    project: i64,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs matrix-synapse: `cargo xtask e2e chat` runs it"]
async fn a_start_appears_once_in_a_matrix_room_even_if_the_first_response_is_lost() {
    let mut stand = Stand::set().await;
    let front = Lossy::before(stand.synapse.address).await;
    stand.connect(front.address).await;
    stand.begin("Chapter <3> & tell @room").await;

    let mut read = stand.reader.read_on(&stand.room).await;
    let content = read[0]["content"].clone();
    assert_eq!(read[0]["sender"], stand.poster.id.as_str());
    assert_eq!(content["msgtype"], "m.notice");
    assert_eq!(content["m.mentions"], json!({}));
    let body = content["body"].as_str().unwrap();
    let start = "mia started a focus session: writing, 25 min on Novel (Night shift), until ";
    assert!(body.starts_with(start), "{body}");
    assert!(
        body.ends_with("\n> Chapter <3> & tell @\u{200b}room"),
        "{body}"
    );
    let formatted = content["formatted_body"].as_str().unwrap();
    assert!(
        formatted.starts_with("<b>mia</b> started a focus session"),
        "{formatted}"
    );
    let note = "<blockquote>Chapter &lt;3&gt; &amp; tell ";
    assert!(formatted.contains(note), "{formatted}");

    // A duplicate would arrive before the test message.
    let ask = stand.site.sessions.post(&stand.path("/test"));
    let ask = ask.bearer(&stand.token).json(json!({}));
    ask.send().await.expect(202);
    while !read
        .iter()
        .any(|event| said(event).starts_with("Test message from mia"))
    {
        read.extend(stand.reader.read_on(&stand.room).await);
    }
    let said: Vec<&str> = read.iter().map(said).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(front.connections() >= 2, "nothing was sent again");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs matrix-synapse: `cargo xtask e2e chat` runs it"]
async fn a_room_that_refuses_messages_is_disabled_with_the_reason() {
    let stand = Stand::set().await;
    let server = stand.synapse.address;
    stand.connect(server).await;
    stand.poster.leave(&stand.room).await;
    stand.begin("from outside").await;
    stand
        .is_off("The chat answered 403: the token's user may not post to the room")
        .await;

    stand.connect(server).await;
    stand.poster.sign_out().await;
    stand.begin("with an old token").await;
    stand
        .is_off("The chat answered 401: the access token is not valid")
        .await;
}

impl Stand {
    async fn set() -> Self {
        let synapse = Synapse::start().await;
        let poster = synapse.register("holdfast").await;
        let reader = synapse.register("reader").await;
        let room = poster.room_with(&reader).await;
        let site = Site::beside_its_chat().await;
        let token = site.register("mia").await;
        let team = json!({"name": "Night shift", "slug": "night-shift"});
        let team = site.api.post("/api/teams").bearer(&token).json(team);
        let team = team.send().await.expect(201).json()["team"]["id"].clone();
        let project = json!({"team_id": team, "name": "Novel"});
        let project = site
            .sessions
            .post("/api/team-projects")
            .bearer(&token)
            .json(project);
        let project = project.send().await.expect(201).json()["id"]
            .as_i64()
            .unwrap();
        Self {
            synapse,
            poster,
            reader,
            room,
            site,
            token,
            project,
        }
    }

    /// Sets the room as the project's chat, by way of `server`.
    async fn connect(&self, server: SocketAddr) {
        let body = json!({
            "provider": "matrix", "homeserver_url": format!("http://{server}"), "room_id": self.room,
            "access_token": self.poster.token
        });
        let put = self.site.sessions.put(&self.path("")).bearer(&self.token);
        let set = put.json(body).send().await.expect(200).json();
        assert_eq!(set["chat"]["status"], "active");
    }

    async fn begin(&self, note: &str) {
        let plan = json!({
            "category": "writing", "duration": 25, "project_id": format!("team_{}", self.project), "note": note
        });
        let start = self
            .site
            .sessions
            .post("/api/session/start")
            .bearer(&self.token);
        start.json(plan).send().await.expect(201);
    }

    async fn is_off(&self, reason: &str) {
        let off = async || {
            let get = self.site.sessions.get(&self.path("")).bearer(&self.token);
            let chat = get.send().await.expect(200).json()["chat"].clone();
            (chat["status"] == "off").then_some(chat)
        };
        let chat = wait_until("the chat to be off", Duration::from_secs(20), off).await;
        assert_eq!(chat["reason"], reason);
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/team-projects/{}/chat{rest}", self.project)
    }
}

fn said(event: &Value) -> &str {
    event["content"]["body"].as_str().unwrap_or_default()
}
