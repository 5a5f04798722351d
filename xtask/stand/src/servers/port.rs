use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use xtask_kit::cmd::{Result, fail};

/// Linux uses ports from 32768 on for outgoing connections.
const FIRST_PORT: u32 = 18_000;
const PORTS: u32 = 12_000;

/// Returns a port that was free a moment ago. It lies below those for outgoing connections, so that a server that is
/// stopped finds it still free when it starts again.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..PORTS {
        // Concurrent tools begin at different offsets.
        let offset = std::process::id().wrapping_mul(97) + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST_PORT + offset % PORTS)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    fail("no port is free")
}
