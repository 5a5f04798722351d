//! As much of PostgreSQL's protocol 3.0 as it takes to ask whether a server lets us in, without a
//! password, and lets us make databases.

use super::Place;
use crate::cmd::{Result, fail};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);
/// No answer to our questions is longer.
const LONGEST_MESSAGE: u32 = 64 * 1024;

/// What a server says to a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It lets the user in and lets him make databases.
    MayCreate,
    /// It lets the user in, no more.
    MayNotCreate,
    /// It asks for a password. The services can give one, this tool cannot.
    WantsPassword,
}

/// Runs one statement.
pub(super) fn execute(place: &Place, sql: &str) -> Result {
    match enter(place)? {
        Some(mut stream) => query(&mut stream, sql).map(drop),
        None => fail("the server wants a password"),
    }
}

/// Asks the server at this place.
pub(super) fn ask(place: &Place) -> Result<Answer> {
    let Some(mut stream) = enter(place)? else {
        return Ok(Answer::WantsPassword);
    };
    let rows = query(
        &mut stream,
        "SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolcreatedb OR rolsuper)",
    )?;
    stream.write_all(&framed(Some(b'X'), &[])?)?;
    Ok(if rows > 0 {
        Answer::MayCreate
    } else {
        Answer::MayNotCreate
    })
}

/// A session, or none when the server asks for a password.
fn enter(place: &Place) -> Result<Option<TcpStream>> {
    let mut stream = connect(&place.address)?;
    let mut startup = 196_608_u32.to_be_bytes().to_vec();
    for text in ["user", &place.user, "database", &place.path, ""] {
        startup.extend_from_slice(text.as_bytes());
        startup.push(0);
    }
    stream.write_all(&framed(None, &startup)?)?;
    loop {
        match receive(&mut stream)? {
            (b'R', body) if body.starts_with(&[0, 0, 0, 0]) => {}
            (b'R', _) => return Ok(None),
            (b'E', body) => return fail(sentence(&body)),
            (b'Z', _) => return Ok(Some(stream)),
            _ => {}
        }
    }
}

/// Sends a query and counts the rows of its answer.
fn query(stream: &mut TcpStream, sql: &str) -> Result<usize> {
    let mut body = sql.as_bytes().to_vec();
    body.push(0);
    stream.write_all(&framed(Some(b'Q'), &body)?)?;
    let mut rows = 0;
    loop {
        match receive(stream)? {
            (b'D', _) => rows += 1,
            (b'E', body) => return fail(sentence(&body)),
            (b'Z', _) => return Ok(rows),
            _ => {}
        }
    }
}

pub(super) fn connect(address: &str) -> Result<TcpStream> {
    let mut last = None;
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(e) => last = Some(e),
        }
    }
    fail(last.map_or_else(|| "no address".to_owned(), |e| e.to_string()))
}

fn framed(kind: Option<u8>, body: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(body.len() + 4)?;
    let mut frame: Vec<u8> = kind.into_iter().collect();
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(body);
    Ok(frame)
}

fn receive(stream: &mut TcpStream) -> Result<(u8, Vec<u8>)> {
    let mut kind = [0_u8; 1];
    stream.read_exact(&mut kind)?;
    let mut length = [0_u8; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if !(4..=LONGEST_MESSAGE).contains(&length) {
        return fail("this is no PostgreSQL server");
    }
    let mut body = vec![0_u8; usize::try_from(length - 4)?];
    stream.read_exact(&mut body)?;
    let [kind] = kind;
    Ok((kind, body))
}

/// The sentence (field `M`) of an error message.
fn sentence(body: &[u8]) -> String {
    let fields = body.split(|b| *b == 0);
    let message = fields
        .filter_map(|field| field.split_first())
        .find(|(kind, _)| **kind == b'M');
    message.map_or_else(
        || "refused".to_owned(),
        |(_, text)| String::from_utf8_lossy(text).into_owned(),
    )
}
