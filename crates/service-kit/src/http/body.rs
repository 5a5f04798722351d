use std::future::{Ready, ready};
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Problem;

/// Sizes, in bytes, and slowness that are refused.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a JSON body: 413 beyond them.
    pub json_bytes: usize,
    /// Bytes of all header lines together: 431 beyond them.
    pub header_bytes: usize,
    /// Seconds in which a body must have arrived: 408 after them.
    pub body_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_bytes: 64 * 1024,
            header_bytes: 16 * 1024,
            body_seconds: 30,
        }
    }
}

/// The deepest nesting of arrays and objects in a body; the parser's own limit.
const MAX_DEPTH: usize = 127;

/// A JSON body that was read but not yet judged.
///
/// Extractors of one handler run side by side, and the token is to be checked before the body: a
/// malformed body must not turn a 401 into a 400. So this extractor never refuses; the handler asks
/// for the value with [`Json::into_inner`] once its other arguments have passed.
#[derive(Debug)]
pub struct Json<T>(Result<T, Problem>);

impl<T> Json<T> {
    /// The value.
    ///
    /// # Errors
    /// 413 over [`Limits::json_bytes`]; 400 for another content type, for what is no JSON or not of the
    /// wanted shape, and for text with NUL.
    pub fn into_inner(self) -> Result<T, Problem> {
        self.0
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_json = has_json_content_type(req);
        let body = read(req, payload, None);
        Box::pin(async move {
            Ok(Self(body.await.and_then(|bytes| {
                if is_json {
                    parse_object(&bytes)
                } else {
                    Err(not_json())
                }
            })))
        })
    }
}

/// A JSON body that may be absent: nothing sent is `None`, whatever the content type says.
#[derive(Debug)]
pub struct OptionalJson<T>(Result<Option<T>, Problem>);

impl<T> OptionalJson<T> {
    /// The value, if a body was sent.
    ///
    /// # Errors
    /// As [`Json::into_inner`].
    pub fn into_inner(self) -> Result<Option<T>, Problem> {
        self.0
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for OptionalJson<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_json = has_json_content_type(req);
        let body = read(req, payload, None);
        Box::pin(async move {
            Ok(Self(body.await.and_then(|bytes| {
                match (bytes.is_empty(), is_json) {
                    (true, _) => Ok(None),
                    (false, true) => parse_object(&bytes).map(Some),
                    (false, false) => Err(not_json()),
                }
            })))
        })
    }
}

/// A body that nobody has read yet. For bodies larger than most: a handler reads it once it knows who
/// sends it and that he may, with a limit of its own.
pub struct Unread {
    req: HttpRequest,
    payload: Payload,
}

impl FromRequest for Unread {
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self {
            req: req.clone(),
            payload: payload.take(),
        }))
    }
}

impl Unread {
    /// The bytes, at most `limit` of them.
    ///
    /// # Errors
    /// 413 over the limit, 408 after [`Limits::body_seconds`], 400 for a body that breaks off.
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, Problem> {
        read(&self.req, &mut self.payload, Some(limit)).await
    }

    /// The bytes as JSON.
    ///
    /// # Errors
    /// As [`Unread::bytes`] and [`Json::into_inner`].
    pub async fn json<T: DeserializeOwned>(self, limit: usize) -> Result<T, Problem> {
        let is_json = has_json_content_type(&self.req);
        let bytes = self.bytes(limit).await?;
        if is_json {
            parse_object(&bytes)
        } else {
            Err(not_json())
        }
    }

    /// The request's headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.req.headers()
    }

    /// The body as it comes, and how long all of it may take. The caller counts the bytes.
    #[must_use]
    pub fn into_stream(self) -> (Payload, Duration) {
        let seconds = limits(&self.req).body_seconds;
        (self.payload, Duration::from_secs(seconds))
    }
}

fn limits(req: &HttpRequest) -> Limits {
    req.app_data::<Data<Limits>>()
        .map_or_else(Limits::default, |limits| ***limits)
}

fn has_json_content_type(req: &HttpRequest) -> bool {
    let Some(value) = req
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or(value).trim();
    essence.eq_ignore_ascii_case("application/json")
        || (essence.to_ascii_lowercase().starts_with("application/")
            && essence.to_ascii_lowercase().ends_with("+json"))
}

fn not_json() -> Problem {
    Problem::bad_request("The request needs the header Content-Type: application/json")
}

/// Reads the whole body, up to `limit` or else [`Limits::json_bytes`], and no further: who sends a byte now and then, or stops in the
/// middle, would otherwise hold his connection for ever.
fn read(
    req: &HttpRequest,
    payload: &mut Payload,
    limit: Option<usize>,
) -> impl Future<Output = Result<Bytes, Problem>> + 'static {
    let limits = limits(req);
    let limit = limit.unwrap_or(limits.json_bytes);
    let announced = req
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut payload = payload.take();
    async move {
        if announced.is_some_and(|length| length > limit) {
            return Err(Problem::payload_too_large(limit));
        }
        let whole = async {
            let mut body = BytesMut::new();
            while let Some(chunk) = payload.next().await {
                let chunk = chunk
                    .map_err(|_| Problem::bad_request("The request body could not be read"))?;
                if body.len() + chunk.len() > limit {
                    return Err(Problem::payload_too_large(limit));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(body.freeze())
        };
        let patience = Duration::from_secs(limits.body_seconds);
        tokio::time::timeout(patience, whole)
            .await
            .unwrap_or_else(|_| Err(Problem::too_slow()))
    }
}

/// Serde also reads a struct from an array of its fields in order, which no body of ours means.
fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let start = bytes.trim_ascii_start();
    if !start.is_empty() && !start.starts_with(b"{") {
        return Err(Problem::bad_request(
            "The request body must be a JSON object",
        ));
    }
    parse(bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // The parser looks only at the text of fields that it knows.
    if std::str::from_utf8(bytes).is_err() {
        return Err(Problem::bad_request("The request body is not valid UTF-8"));
    }
    let without_nul = holds_escaped_nul(bytes)
        .then(|| mark_nul_in_id(bytes))
        .flatten();
    let bytes = without_nul.as_deref().unwrap_or(bytes);
    if holds_escaped_nul(bytes) {
        return Err(Problem::bad_request(
            "Text must not contain the NUL character",
        ));
    }
    if is_too_deep(bytes) {
        return Err(Problem::bad_request(
            "The request body is nested too deeply",
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        // Messages of syntax errors name a place, those of shape errors a field; neither repeats a string value.
        match error.classify() {
            serde_json::error::Category::Data => Problem::bad_request(format!(
                "The request body does not fit: {}",
                without_values(&error)
            )),
            _ => Problem::bad_request(format!(
                "The request body is not valid JSON (line {}, column {})",
                error.line(),
                error.column()
            )),
        }
    })
}

/// An id with NUL names nothing, which is for the handler to say: the body with each NUL in its field `session_id` replaced
/// by a character that no id has.
fn mark_nul_in_id(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(bytes).ok()?;
    let id = body.get_mut("session_id")?;
    *id = id.as_str()?.replace('\0', "\u{fffd}").into();
    serde_json::to_vec(&body).ok()
}

/// Whether arrays and objects are nested deeper than [`MAX_DEPTH`]. The parser has that limit for what it
/// keeps; it skips fields that it does not know however deep they are.
fn is_too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    bytes.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Serde's message without the offending value, which may be a password.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(text, _)| text);
    match (
        text.strip_prefix("invalid type: "),
        text.strip_prefix("invalid value: "),
    ) {
        (Some(rest), _) | (_, Some(rest)) => {
            let found = rest
                .split([' ', '`'])
                .next()
                .unwrap_or_default()
                .trim_end_matches(',');
            let expected = rest
                .rsplit_once(", expected ")
                .map_or("something else", |(_, expected)| expected);
            format!("found {found}, expected {expected}")
        }
        _ => text.to_owned(),
    }
}

/// Whether a `\u0000` escape stands in the text, its backslash not being escaped itself.
fn holds_escaped_nul(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if rest.starts_with(b"u0000") {
            return true;
        }
        // Whatever follows a backslash belongs to it.
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_nul_is_found_and_an_escaped_backslash_is_not_mistaken_for_one() {
        assert!(holds_escaped_nul(br#"{"a":"x\u0000y"}"#));
        assert!(holds_escaped_nul(br#"{"a":"\\\u0000"}"#));
        assert!(!holds_escaped_nul(br#"{"a":"\\u0000"}"#));
        assert!(!holds_escaped_nul(br#"{"a":"\u0001\n"}"#));
        assert!(!holds_escaped_nul(b"\\"));
    }

    #[test]
    fn an_error_never_repeats_the_value() {
        let error =
            parse::<Vec<u32>>(br#"["hunter2 is, expected secret"]"#).expect_err("no numbers");
        assert!(!error.message.contains("hunter2"), "{error}");
        assert!(error.message.contains("expected"), "{error}");
        let deep = vec![b'['; 100_000];
        assert_eq!(
            parse::<serde_json::Value>(&deep)
                .expect_err("too deep")
                .status
                .as_u16(),
            400
        );
    }

    #[test]
    fn depth_counts_in_fields_that_are_skipped_and_not_in_text() {
        #[derive(Debug, serde::Deserialize)]
        struct Named {
            name: Option<String>,
        }
        let body = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(parse::<Named>(body(MAX_DEPTH).as_bytes()).is_ok());
        let refused = parse::<Named>(body(MAX_DEPTH + 1).as_bytes()).expect_err("too deep");
        assert_eq!(refused.status.as_u16(), 400);
        let brackets = format!(r#"{{"name":"\"{}\\"}}"#, "[{".repeat(500));
        let read = parse::<Named>(brackets.as_bytes()).expect("text");
        assert_eq!(read.name.map(|name| name.len()), Some(1_002));
    }
}
