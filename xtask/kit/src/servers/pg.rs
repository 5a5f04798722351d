//! As much of PostgreSQL's protocol 3.0 as it takes to ask whether a server lets us in, without a
//! password, and lets us make databases.

use super::Place;
use crate::cmd::{Result, fail};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);
/// What a statement may take.
const LONG_PATIENCE: Duration = Duration::from_secs(120);
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

/// A row as text; NULL is empty.
pub(super) type Row = Vec<String>;

/// Runs one statement and gives its rows.
pub(super) fn execute(place: &Place, sql: &str) -> Result<Vec<Row>> {
    match enter(place)? {
        Some(mut stream) => {
            // Making thousands of rows takes longer than a greeting.
            stream.set_read_timeout(Some(LONG_PATIENCE))?;
            query(&mut stream, sql)
        }
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
    Ok(if rows.is_empty() {
        Answer::MayNotCreate
    } else {
        Answer::MayCreate
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

/// Sends a query and reads the rows of its answer.
fn query(stream: &mut TcpStream, sql: &str) -> Result<Vec<Row>> {
    let mut body = sql.as_bytes().to_vec();
    body.push(0);
    stream.write_all(&framed(Some(b'Q'), &body)?)?;
    let mut rows = Vec::new();
    loop {
        match receive(stream)? {
            (b'D', body) => rows.push(row(&body)?),
            (b'E', body) => return fail(sentence(&body)),
            (b'Z', _) => return Ok(rows),
            _ => {}
        }
    }
}

/// Reads a DataRow: a count, then each value after its length, which is -1 for NULL.
fn row(mut body: &[u8]) -> Result<Row> {
    let mut count = [0_u8; 2];
    body.read_exact(&mut count)?;
    let mut values = Vec::new();
    for _ in 0..u16::from_be_bytes(count) {
        let mut length = [0_u8; 4];
        body.read_exact(&mut length)?;
        let mut value = vec![0_u8; usize::try_from(i32::from_be_bytes(length)).unwrap_or(0)];
        body.read_exact(&mut value)?;
        values.push(String::from_utf8_lossy(&value).into_owned());
    }
    Ok(values)
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

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_is_read_value_by_value() {
        let body = b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x01c";
        assert_eq!(row(body).unwrap(), ["ab", "", "c"]);
        assert!(row(b"\0\x01\0\0\0\x09short").is_err());
    }
}
