//! Requests whose body arrives after the caller has lost the right to make them: the token was valid when it was
//! checked, and is not when the change would be made.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::Identity;

/// A request that is sent except for the last byte of its body. Finishing it returns the response.
struct Unfinished {
    stream: TcpStream,
    last: u8,
}

impl Unfinished {
    async fn send(
        identity: &Identity,
        method: &str,
        path: &str,
        token: &str,
        body: &Value,
    ) -> Self {
        let body = body.to_string();
        let (last, rest) = body.as_bytes().split_last().unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(identity.running.addr()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(rest).await.unwrap();
        // The test cannot observe that the token has been checked. If it had not, the test would prove nothing.
        identity.validate(token).await.expect(200);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        Self {
            stream,
            last: *last,
        }
    }

    async fn finish(mut self) -> String {
        self.stream.write_all(&[self.last]).await.unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_begun_before_its_token_is_signed_out_changes_nothing() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let requests = [
        (
            "PUT",
            format!("/api/auth/user/{}", ada.id),
            json!({"bio": "late"}),
        ),
        (
            "POST",
            "/api/teams".to_owned(),
            json!({"name": "Late", "slug": "late"}),
        ),
    ];
    let mut unfinished = Vec::new();
    for (method, path, body) in &requests {
        unfinished.push(Unfinished::send(&identity, method, path, &ada.access, body).await);
    }
    let logout = identity.api.post("/api/auth/logout").bearer(&ada.access);
    logout.send().await.expect(200);
    for request in unfinished {
        let answer = request.finish().await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        assert!(answer.contains("token_revoked"), "{answer}");
    }
    assert_eq!(identity.count("SELECT count(*) AS n FROM teams"), 0);
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM users WHERE bio IS NOT NULL"),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_an_administrator_who_is_demoted_meanwhile_creates_no_account() {
    let identity = Identity::start_with(|config| config.tokens.remember = false).await;
    let eve = identity.register("eve").await;
    identity.sql("UPDATE users SET role = 'SUPERADMIN' WHERE username = 'eve'");
    let body = json!({"username": "mallory", "role": "SUPERADMIN"});
    let create = Unfinished::send(&identity, "POST", "/api/admin/users", &eve.access, &body).await;
    identity.sql("UPDATE users SET role = 'USER' WHERE username = 'eve'");
    let answer = create.finish().await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 1);
}
