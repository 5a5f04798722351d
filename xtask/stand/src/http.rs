//! A small HTTP/1.1 client that costs little, over one persistent connection, and the request parser of scripted servers.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use xtask_kit::cmd::{Result, fail};

/// Returns the string at a JSON pointer, or an empty one.
pub fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    let found = value.pointer(place).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// Serves each connection to a free port of this address on its own thread, until the tool ends. Returns the port.
pub fn listen(
    address: &str,
    serve: impl Fn(TcpStream) -> Option<()> + Clone + Send + 'static,
) -> Result<u16> {
    let listener = TcpListener::bind((address, 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    Ok(port)
}

/// A response, read to its end.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The header fields, with names in lower case.
    headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl Answer {
    /// Returns the values of a header field. The name is in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.headers.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    fn keeps_connection(&self) -> bool {
        !self
            .all("connection")
            .any(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// A client of one address, which reconnects when its connection was closed.
pub struct Client {
    host: String,
    token: String,
    patience: Duration,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Creates a client for an address `http://HOST:PORT`. An empty token sends no `Authorization`.
    pub fn new(address: &str, token: &str) -> Self {
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

    /// Sets the read timeout, which is 30 seconds by default.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Uses another token from now on, over the same connection.
    pub fn use_token(&mut self, token: &str) {
        token.clone_into(&mut self.token);
    }

    /// Sends a request and returns status and body. If it fails on a connection that was kept open, it is sent once more over a
    /// new one.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        self.send_with(method, path, "", body)
    }

    /// Like [`Client::send`], with more header lines, each ending in `\r\n`.
    pub fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<(u16, String)> {
        let answer = self.ask(method, path, headers, body)?;
        Ok((answer.status, answer.body))
    }

    /// Like [`Client::send_with`], but returns the whole response. A content type other than JSON comes first in `headers`.
    pub fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Result<Answer> {
        let kept = self.connection.is_some();
        match self.exchange(method, path, headers, body) {
            Err(_) if kept => self.exchange(method, path, headers, body),
            other => other,
        }
    }

    /// Like [`Client::send`], but fails unless the status is 2xx, and returns the body as JSON.
    pub fn call(&mut self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let text = self.good(method, path, &body.to_string())?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Returns the body at a path; fails unless the status is 2xx.
    pub fn text(&mut self, path: &str) -> Result<String> {
        self.good("GET", path, "")
    }

    /// Returns the body at a path as JSON; fails unless the status is 2xx.
    pub fn json(&mut self, path: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.text(path)?)?)
    }

    fn good(&mut self, method: &str, path: &str, body: &str) -> Result<String> {
        match self.send(method, path, body)? {
            (200..=299, text) => Ok(text),
            (status, text) => fail(format!("{method} {path}: {status} {text}")),
        }
    }

    fn exchange(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Result<Answer> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(&self.host)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.patience))?;
                BufReader::new(stream)
            }
        };
        let content_type = if headers.starts_with("Content-Type:") {
            ""
        } else {
            "Content-Type: application/json\r\n"
        };
        let authorization = match self.token.as_str() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{authorization}{content_type}{headers}Content-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        connection.get_mut().write_all(request.as_bytes())?;
        let answer = answer(&mut connection)?;
        if answer.keeps_connection() {
            self.connection = Some(connection);
        }
        Ok(answer)
    }
}

fn answer(connection: &mut impl BufRead) -> Result<Answer> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let Some(status) = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
    else {
        return fail("the connection was closed");
    };
    let (headers, body) = rest(connection)?;
    Ok(Answer {
        status,
        headers,
        body,
    })
}

/// Reads the header fields, with names in lower case, and a body of the declared length.
fn rest(connection: &mut impl BufRead) -> Result<(Vec<(String, String)>, String)> {
    let (mut length, mut headers) = (0_usize, Vec::new());
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line)? == 0 {
            return fail("the connection was closed");
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        match name.as_str() {
            "content-length" => length = value.parse()?,
            "transfer-encoding" => return fail("chunked bodies are not supported"),
            _ => headers.push((name, value)),
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    Ok((headers, String::from_utf8_lossy(&body).into_owned()))
}

/// A request that reached a scripted server, read to its end.
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The value of `Authorization`, or an empty string.
    pub authorization: String,
    /// The body as text.
    pub body: String,
}

/// Sends nothing more and reads until the caller hangs up or is silent for 30 seconds.
pub fn hang(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let socket = stream.get_ref();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    while stream.read(&mut [0; 64]).ok()? > 0 {}
    None
}

/// Reads the next request on a connection; `None` if the connection ended, even in the middle of a request.
pub fn next_request(stream: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (headers, body) = rest(stream).ok()?;
    let mut headers = headers.into_iter();
    let authorization = headers.find(|(name, _)| name == "authorization");
    Some(Request {
        method,
        path,
        authorization: authorization.map(|(_, value)| value).unwrap_or_default(),
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn an_answer_is_read_to_its_end_and_no_further() {
        let read = |bytes: &mut &[u8]| {
            let answer = answer(bytes).unwrap();
            let keeps = answer.keeps_connection();
            (answer.status, answer.body, keeps)
        };
        let mut bytes: &[u8] = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nokrest";
        assert_eq!(read(&mut bytes), (201, "ok".to_owned(), true));
        assert_eq!(bytes, b"rest");
        let mut closed: &[u8] = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
        assert_eq!(read(&mut closed), (204, String::new(), false));
        assert!(answer(&mut &b""[..]).is_err());
    }

    #[test]
    fn a_header_may_come_more_than_once() {
        let mut bytes: &[u8] = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n";
        let answer = answer(&mut bytes).unwrap();
        assert_eq!(answer.all("set-cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
    }
}
