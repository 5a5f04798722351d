//! The export of all sessions as a file.

use std::time::Duration;

use serde_json::{Value, json};
use test_kit::{ApiResponse, raw_request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::caller::Caller;
use crate::database::execute;
use crate::past_sessions::{PastSession, insert_sessions};
use crate::service_fixture::Service;

async fn export(caller: &Caller<'_>, query: &str) -> ApiResponse {
    caller.get(&format!("/api/sessions/export?{query}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_format_has_its_content_type_its_file_name_and_all_of_the_callers_sessions() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let mut sessions: Vec<PastSession> = (0..450).map(PastSession::nth).collect();
    sessions[3].note = "=1+1, \"quoted\"\nand more".to_owned();
    sessions[449].status = "running";
    insert_sessions(&service, &sessions);
    insert_sessions(
        &service,
        &[PastSession {
            user: 8,
            ..PastSession::nth(1_000)
        }],
    );
    execute(
        &service,
        &format!(
            "INSERT INTO session_flags (session_id, user_id, kind, severity, created_at) \
             VALUES ('{}', 7, 'client_clock', 'info', '2020-01-01 00:00:00')",
            PastSession::nth(3).id
        ),
    );

    let file = export(&ada, "format=json").await.expect(200);
    assert_eq!(file.header("content-type"), "application/json");
    assert_eq!(file.header("cache-control"), "no-store");
    assert_eq!(
        file.header("content-disposition"),
        "attachment; filename=\"holdfast-sessions-person7-2026-11-23.json\""
    );
    let exported = file.json();
    let mut listed = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = ada
            .get(&format!("/api/sessions?limit=200&cursor={cursor}"))
            .await
            .expect(200)
            .json();
        listed.extend(page["sessions"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    listed.reverse();
    assert_eq!(exported, json!({"success": true, "sessions": listed}));
    assert_eq!(export(&ada, "").await.expect(200).json(), exported);

    let file = export(&ada, "format=csv").await.expect(200);
    assert_eq!(
        file.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    assert!(
        file.header("content-disposition")
            .ends_with("2026-11-23.csv\"")
    );
    let text = file.text();
    assert_eq!(text.matches("\r\n").count(), 451);
    assert!(text.starts_with("session_id,status,"), "{text}");
    assert!(
        text.contains(",\"'=1+1, \"\"quoted\"\"\nand more\",,,client_a,client_clock (info)\r\n"),
        "{text}"
    );

    let file = export(&ada, "format=ics").await.expect(200);
    assert_eq!(file.header("content-type"), "text/calendar; charset=utf-8");
    assert!(
        file.header("content-disposition")
            .ends_with("2026-11-23.ics\"")
    );
    // The running session has no execution yet.
    assert_eq!(file.text().matches("BEGIN:VEVENT\r\n").count(), 449);
    assert!(file.text().ends_with("END:VEVENT\r\nEND:VCALENDAR\r\n"));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_without_sessions_or_of_a_time_span_is_a_complete_file() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let empty = json!({"success": true, "sessions": []});
    assert_eq!(export(&ada, "format=json").await.expect(200).json(), empty);
    assert_eq!(
        export(&ada, "format=csv")
            .await
            .expect(200)
            .text()
            .lines()
            .count(),
        1
    );
    let calendar = export(&ada, "format=ics").await.expect(200).text();
    assert!(
        calendar.ends_with("CALSCALE:GREGORIAN\r\nEND:VCALENDAR\r\n"),
        "{calendar}"
    );

    // Exactly one page and exactly two pages are among the sizes.
    let sessions: Vec<PastSession> = (0..400).map(PastSession::nth).collect();
    insert_sessions(&service, &sessions);
    let numbers = |file: &Value| file["sessions"].as_array().unwrap().len();
    for (query, expected) in [
        ("", 400),
        ("to=2020-01-09T07:00:00Z", 200),
        ("from=2020-01-02&to=2020-01-02", 24),
        ("from=2020-01-02T00:00:00Z&to=2020-01-02T00:00:00Z", 1),
        ("from=2021-01-01", 0),
    ] {
        let file = export(&ada, query).await.expect(200).json();
        assert_eq!(numbers(&file), expected, "{query}");
    }
    ada.set_zone("Asia/Tokyo").await;
    let day = export(&ada, "to=2020-01-01").await.expect(200).json();
    assert_eq!(numbers(&day), 15);

    for (query, sentence) in [
        ("format=xml", "format must be csv, json or ics"),
        ("format=CSV", "format must be csv, json or ics"),
        (
            "from=then",
            "from must be a date (YYYY-MM-DD) or an RFC 3339 time",
        ),
    ] {
        let refused = export(&ada, query).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}));
        assert_eq!(refused.header("content-disposition"), "");
    }
    let head = service
        .api
        .call("HEAD".parse().unwrap(), "/api/sessions/export?format=csv");
    let head = head.bearer(&ada.token).send().await.expect(200);
    assert_eq!(
        (head.header("content-type"), head.body.len()),
        ("text/csv; charset=utf-8; header=present", 0)
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_first_party_sessions_and_clients_can_export() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let everything = "user-openid+profile+email+teams+teams.write+sessions.read+sessions.write+integrations.write+account";
    for (token, status) in [
        ("user-", 200),
        ("outsider-7", 200),
        ("own-account", 200),
        ("own-sessions.read+sessions.write", 403),
        (everything, 403),
        ("sso-7", 403),
    ] {
        let reply = service
            .api
            .get("/api/sessions/export")
            .bearer(token)
            .send()
            .await
            .expect(status);
        if status == 403 {
            assert_eq!(reply.json(), json!({"error": "Insufficient scope"}));
        }
    }
    // An SSO session may use the other endpoints.
    service
        .api
        .get("/api/sessions")
        .bearer("sso-7")
        .send()
        .await
        .expect(200);
    service.stop().await;
}

/// A reader that takes the beginning of a file and then stops.
struct SlowReader {
    stream: TcpStream,
    text: Vec<u8>,
}

impl SlowReader {
    async fn begin(service: &Service) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let address = service
            .api
            .base()
            .trim_start_matches("http://")
            .parse()
            .unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        let request = "GET /api/sessions/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer outsider-7\r\n\
            Connection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains("\"session_id\"") {
            let read = stream.read_buf(&mut text).await.unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&text));
        }
        Self { stream, text }
    }

    async fn finish(mut self) -> String {
        let all = self.stream.read_to_end(&mut self.text);
        tokio::time::timeout(Duration::from_secs(60), all)
            .await
            .unwrap()
            .unwrap();
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http_1_0_client_gets_an_export_without_chunks() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    ada.start_coding().await;
    let request = format!(
        "GET /api/sessions/export?format=json HTTP/1.0\r\nAuthorization: Bearer {}\r\n\r\n",
        ada.token
    );
    let address = service.api.base().trim_start_matches("http://");
    let answer = raw_request(address.parse().unwrap(), request.as_bytes()).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!head.to_lowercase().contains("transfer-encoding"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["sessions"].as_array().map(Vec::len), Some(1));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_streams_from_the_database_and_slow_readers_hold_no_connection() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    // 25 MB, more than the sockets of both sides buffer.
    let sessions: Vec<PastSession> = (0..20_000)
        .map(|n| PastSession {
            planning_note: "x".repeat(1_000),
            ..PastSession::nth(n)
        })
        .collect();
    insert_sessions(&service, &sessions);
    // More readers than database connections.
    let mut readers = Vec::new();
    for _ in 0..12 {
        readers.push(SlowReader::begin(&service).await);
    }
    ada.get("/api/sessions?limit=1").await.expect(200);
    let last = &sessions[19_999].id;
    execute(
        &service,
        &format!("UPDATE sessions SET note = 'changed meanwhile' WHERE session_id = '{last}'"),
    );
    let text = readers.remove(0).finish().await;
    assert_eq!(text.matches("\"session_id\"").count(), 20_000);
    assert_eq!(
        text.matches("changed meanwhile").count(),
        1,
        "the end was read after the beginning was sent"
    );
    assert!(
        text.ends_with("]}\r\n0\r\n\r\n"),
        "{}",
        &text[text.len() - 200..]
    );
    drop(readers);
    service.stop().await;
}
