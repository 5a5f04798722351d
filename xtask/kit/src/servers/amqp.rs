//! As much of AMQP 0-9-1 as it takes to ask whether a broker lets us in, and into a virtual host.

use super::{Place, pg::connect};
use crate::cmd::{Context, Result, fail};
use std::io::{Read, Write};
use std::net::TcpStream;

/// No frame of a handshake is longer.
const LONGEST_FRAME: u32 = 128 * 1024;
const FRAME_END: u8 = 0xCE;

// Methods of class 10, connection.
const START: u16 = 10;
const START_OK: u16 = 11;
const TUNE: u16 = 30;
const TUNE_OK: u16 = 31;
const OPEN: u16 = 40;
const OPEN_OK: u16 = 41;
const CLOSE: u16 = 50;
const CLOSE_OK: u16 = 51;

/// Opens a connection into the virtual host of this place, and closes it again.
pub(super) fn ask(place: &Place) -> Result {
    let mut stream = connect(&place.address)?;
    stream.write_all(b"AMQP\x00\x00\x09\x01")?;
    expect(&mut stream, START)?;

    let mut start_ok = 0_u32.to_be_bytes().to_vec(); // no client properties
    short(&mut start_ok, "PLAIN")?;
    let login = format!("\0{}\0{}", place.user, place.password);
    start_ok.extend_from_slice(&u32::try_from(login.len())?.to_be_bytes());
    start_ok.extend_from_slice(login.as_bytes());
    short(&mut start_ok, "en_US")?;
    send(&mut stream, START_OK, &start_ok)?;

    // A broker that refuses a login says nothing: it waits, then hangs up.
    let limits = expect(&mut stream, TUNE).context(|| "the login is refused".to_owned())?;
    send(&mut stream, TUNE_OK, &limits)?;

    let mut open = Vec::new();
    short(&mut open, &vhost(place))?;
    open.extend_from_slice(&[0, 0]);
    send(&mut stream, OPEN, &open)?;
    expect(&mut stream, OPEN_OK)?;

    let mut close = 200_u16.to_be_bytes().to_vec();
    short(&mut close, "bye")?;
    close.extend_from_slice(&[0, 0, 0, 0]);
    send(&mut stream, CLOSE, &close)?;
    expect(&mut stream, CLOSE_OK).map(drop)
}

/// The virtual host an URL names: none is `/`.
fn vhost(place: &Place) -> String {
    if place.path.is_empty() {
        "/".to_owned()
    } else {
        place.path.replace("%2f", "/").replace("%2F", "/")
    }
}

fn short(buffer: &mut Vec<u8>, text: &str) -> Result {
    buffer.push(u8::try_from(text.len())?);
    buffer.extend_from_slice(text.as_bytes());
    Ok(())
}

fn send(stream: &mut TcpStream, method: u16, arguments: &[u8]) -> Result {
    let mut frame = vec![1, 0, 0]; // a method frame on channel 0
    frame.extend_from_slice(&u32::try_from(arguments.len() + 4)?.to_be_bytes());
    frame.extend_from_slice(&10_u16.to_be_bytes());
    frame.extend_from_slice(&method.to_be_bytes());
    frame.extend_from_slice(arguments);
    frame.push(FRAME_END);
    Ok(stream.write_all(&frame)?)
}

/// Reads the next method, which must be this one, and returns its arguments.
fn expect(stream: &mut TcpStream, method: u16) -> Result<Vec<u8>> {
    let mut head = [0_u8; 7];
    stream.read_exact(&mut head)?;
    let [kind, _, _, a, b, c, d] = head;
    let length = u32::from_be_bytes([a, b, c, d]);
    if kind != 1 || !(4..=LONGEST_FRAME).contains(&length) {
        return fail("this is no AMQP 0-9-1 broker");
    }
    let mut body = vec![0_u8; usize::try_from(length)? + 1];
    stream.read_exact(&mut body)?;
    body.pop(); // the end of the frame
    match body.split_first_chunk::<4>() {
        Some(([0, 10, high, low], arguments)) if u16::from_be_bytes([*high, *low]) == method => {
            Ok(arguments.to_vec())
        }
        Some(([0, 10, high, low], arguments)) if u16::from_be_bytes([*high, *low]) == CLOSE => {
            fail(reply_text(arguments))
        }
        _ => fail("the broker refused the connection"),
    }
}

/// The text of a close method: a code, then a length and as many bytes.
fn reply_text(arguments: &[u8]) -> String {
    let text = arguments.get(2..).and_then(|rest| rest.split_first());
    let text = text.and_then(|(length, rest)| rest.get(..usize::from(*length)));
    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
}
