//! A small HTTP/1.1 client over one kept connection: what it costs is not the service's.

use crate::cmd::{Result, fail};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection to one address, opened again when it was closed.
pub(crate) struct Client {
    host: String,
    token: String,
    patience: Duration,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    /// For an address `http://HOST:PORT`.
    pub(crate) fn new(address: &str, token: &str) -> Self {
        let host = address
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Self {
            host,
            token: token.to_owned(),
            patience: Duration::from_secs(30),
            connection: None,
        }
    }

    /// Waits no longer than this for each piece of an answer; 30 s otherwise.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Speaks for somebody else from now on, over the same connection.
    pub(crate) fn use_token(&mut self, token: &str) {
        token.clone_into(&mut self.token);
    }

    /// Sends a request and returns status and body. A kept connection that turns out to be closed
    /// before an answer began is opened again, once.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        self.send_with(method, path, "", body)
    }

    /// As [`Client::send`], with more header lines, each ended by `\r\n`.
    pub(crate) fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<(u16, String)> {
        let kept = self.connection.is_some();
        match self.exchange(method, path, headers, body) {
            Err(_) if kept => self.exchange(method, path, headers, body),
            other => other,
        }
    }

    /// As [`Client::send`], for answers that must be good: the JSON of the body.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let (status, text) = self.send(method, path, &body.to_string())?;
        if !(200..300).contains(&status) {
            return fail(format!("{method} {path}: {status} {text}"));
        }
        Ok(serde_json::from_str(&text)?)
    }

    fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<(u16, String)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(&self.host)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.patience))?;
                BufReader::new(stream)
            }
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.host,
            self.token,
            body.len()
        );
        connection.get_mut().write_all(request.as_bytes())?;
        let (status, body, keep) = answer(&mut connection)?;
        if keep {
            self.connection = Some(connection);
        }
        Ok((status, body))
    }
}

fn answer(connection: &mut impl BufRead) -> Result<(u16, String, bool)> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let Some(status) = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
    else {
        return fail("the connection was closed");
    };
    let (mut length, mut keep) = (0_usize, true);
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse()?,
            "connection" => keep = !value.trim().eq_ignore_ascii_case("close"),
            "transfer-encoding" => return fail("a chunked answer, which nobody expected"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned(), keep))
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        let mut bytes: &[u8] = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nokrest";
        assert_eq!(answer(&mut bytes).unwrap(), (201, "ok".to_owned(), true));
        assert_eq!(bytes, b"rest");
        let mut closed: &[u8] = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
        assert_eq!(answer(&mut closed).unwrap(), (204, String::new(), false));
        assert!(answer(&mut &b""[..]).is_err());
    }
}
