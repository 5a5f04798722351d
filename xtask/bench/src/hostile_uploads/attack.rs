//! Hostile bodies: unfinished ones, and pictures that take a hundred times their size in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xtask_fixtures::lock;
use xtask_kit::cmd::Result;

const MIB: usize = 1024 * 1024;
/// The number of small bodies that stay unfinished.
const SMALL: usize = 600;

/// An account of the attacker.
pub(super) struct Attacker {
    pub(super) id: i64,
    pub(super) token: String,
}

/// A request that is sent repeatedly.
pub(super) struct Attack {
    /// The path after `/api/auth/user/ID`.
    path: &'static str,
    kind: &'static str,
    /// The declared length.
    length: usize,
    /// The bytes that are sent.
    body: Vec<u8>,
}

/// How often each status was returned; 0 stands for no response.
#[derive(Default)]
pub(super) struct Answers(Mutex<BTreeMap<u16, usize>>);

impl Answers {
    pub(super) fn count(&self, status: Option<u16>) {
        let mut answers = lock(&self.0);
        *answers.entry(status.unwrap_or(0)).or_default() += 1;
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = lock(&self.0);
        for (status, count) in answers.iter() {
            write!(f, "{status}: {count}  ")?;
        }
        Ok(())
    }
}

impl Attack {
    /// Returns sixty bodies of 8 MiB whose last byte never arrives, thirty progressive JPEGs of 4 MiB, and ten that are too
    /// large to be decoded.
    pub(super) fn hundred() -> Vec<Self> {
        let unfinished = || Self {
            path: "",
            kind: "application/json",
            length: 8 * MIB,
            body: vec![b' '; 8 * MIB - 1],
        };
        let all = (0..100).map(|n| match n % 10 {
            0..=5 => unfinished(),
            6..=8 => Self::picture(2048, 4 * MIB),
            _ => Self::picture(4096, 4 * MIB),
        });
        all.collect()
    }

    /// Returns a small photo, as any user might send it.
    pub(super) fn honest() -> Self {
        Self::picture(64, 0)
    }

    fn picture(edge: u16, size: usize) -> Self {
        let body = progressive(edge, size);
        Self {
            path: "/profile-photo",
            kind: "image/jpeg",
            length: body.len(),
            body,
        }
    }

    /// Sends the request once and returns the status; `None` if the connection or the attack ends first.
    pub(super) fn once(&self, address: &str, account: &Attacker, over: &AtomicBool) -> Option<u16> {
        let mut stream = TcpStream::connect(address.trim_start_matches("http://")).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_millis(250)))
            .ok()?;
        let Attacker { id, token } = account;
        let head = format!(
            "PUT /api/auth/user/{id}{} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
            self.path, self.kind, self.length
        );
        stream.write_all(head.as_bytes()).ok()?;
        // The server may reject the request before it is complete.
        let _ = stream.write_all(&self.body);
        let mut answer = [0; 16];
        loop {
            match stream.read(&mut answer) {
                Ok(12..) => {
                    let status = answer.get(9..12)?;
                    return std::str::from_utf8(status).ok()?.parse().ok();
                }
                Ok(_) => return None,
                Err(_) if over.load(Ordering::SeqCst) => return None,
                Err(cause) if cause.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }
}

/// Opens requests of 60 KiB whose last byte never arrives.
pub(super) fn unfinished_small(address: &str, accounts: &[Attacker]) -> Result<Vec<TcpStream>> {
    let mut held = Vec::new();
    for (_, account) in (0..SMALL).zip(accounts.iter().cycle()) {
        let mut stream = TcpStream::connect(address.trim_start_matches("http://"))?;
        stream.set_write_timeout(Some(Duration::from_secs(1)))?;
        let head = format!(
            "POST /api/teams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: 61440\r\n\r\n",
            account.token
        );
        stream.write_all(head.as_bytes())?;
        let _ = stream.write_all(&[b' '; 61_439]);
        held.push(stream);
    }
    Ok(held)
}

/// Returns a progressive JPEG of one colour: a scan with the DC coefficients, and one for each component that says that there
/// are no others. Comments fill it up to `size` bytes.
fn progressive(edge: u16, size: usize) -> Vec<u8> {
    let segment = |marker: u8, data: &[u8]| {
        let length = u16::try_from(data.len() + 2).unwrap_or(u16::MAX);
        [&[0xff, marker], length.to_be_bytes().as_slice(), data].concat()
    };
    let blocks = usize::from(edge / 8) * usize::from(edge / 8);
    let bytes = edge.to_be_bytes();
    let mut frame = [&[8], bytes.as_slice(), &bytes, &[3]].concat();
    (1..=3).for_each(|id| frame.extend([id, 0x11, 0]));
    // One code of one bit: for DC no difference, for AC the end of up to 32,767 blocks.
    let table = |kind: u8, symbol: u8| {
        let mut data = vec![kind, 1];
        data.extend([0; 15]);
        data.push(symbol);
        segment(0xc4, &data)
    };
    let mut file = [
        vec![0xff, 0xd8],
        segment(0xdb, &[vec![0], vec![1; 64]].concat()),
    ]
    .concat();
    while file.len() + 60_000 < size {
        file.extend(segment(0xfe, &[b' '; 60_000]));
    }
    file.extend(segment(0xc2, &frame));
    file.extend(table(0x00, 0x00));
    file.extend(table(0x10, 0xe0));
    file.extend(segment(0xda, &[3, 1, 0, 2, 0, 3, 0, 0, 0, 0]));
    file.extend(vec![0; (blocks * 3).div_ceil(8)]);
    for id in 1..=3 {
        file.extend(segment(0xda, &[1, id, 0, 1, 63, 0]));
        file.extend(vec![0; (blocks.div_ceil(16_384) * 15).div_ceil(8)]);
    }
    file.extend([0xff, 0xd9]);
    file
}
