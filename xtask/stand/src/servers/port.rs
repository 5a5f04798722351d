use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use xtask_kit::cmd::{Result, fail};

/// Linux gives outgoing connections ports from 32768 on.
const FIRST_PORT: u32 = 18_000;
const PORTS: u32 = 12_000;

/// A port that was free a moment ago, and below those that the system gives to outgoing connections:
/// a server that is stopped and started again finds it still free.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..PORTS {
        // Of tools that run at once each begins somewhere else.
        let offset = std::process::id().wrapping_mul(97) + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST_PORT + offset % PORTS)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    fail("there is no free port")
}
