//! wrk from Debian, which sends requests as fast as they are answered.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use xtask_fixtures::servers;
use xtask_kit::cmd::{Result, fail, output};
use xtask_kit::env_vars;

/// The connections of the figures in performance.md.
pub(super) const CONNECTIONS: usize = 32;
const THREADS: usize = 1;

/// Takes tokens at random from a file with one a line, as bearer tokens or as the forms of an introspection.
const SCRIPT: &str = r#"
local requests = {}
function init(args)
  math.randomseed(os.time())
  for line in io.lines(args[1]) do
    if args[2] then
      local headers = {Authorization = args[2], ["Content-Type"] = "application/x-www-form-urlencoded"}
      requests[#requests + 1] = wrk.format("POST", nil, headers, "token=" .. line)
    else
      requests[#requests + 1] = wrk.format("GET", nil, {Authorization = "Bearer " .. line})
    end
  end
end
function request() return requests[math.random(#requests)] end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("figures %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.timeout + e.status))
end
"#;

/// A request, sent each time with another of the tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) url: &'a str,
    /// A file with one token a line.
    pub(super) tokens: &'a Path,
    /// The `Authorization` of a client that introspects the tokens. Without it, they are bearer tokens.
    pub(super) client: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// Returns a request with bearer tokens.
    pub(super) fn new(url: &'a str, tokens: &'a Path) -> Self {
        Self {
            url,
            tokens,
            client: None,
        }
    }
}

/// The result of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrkResult {
    pub(super) requests: f64,
    /// Requests a second.
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// Installs wrk if it is missing.
pub(super) fn obtain() -> Result {
    if env_vars::which("wrk").is_none() {
        servers::install(&["wrk"])?;
    }
    Ok(())
}

/// Sends requests for that long, as fast as they are answered.
pub(super) fn ask(request: &Request<'_>, time: Duration) -> Result<WrkResult> {
    let script = tempfile::Builder::new().suffix(".lua").tempfile()?;
    std::fs::write(script.path(), SCRIPT)?;
    let mut command = Command::new("wrk");
    command
        .args(["--connections", &CONNECTIONS.to_string()])
        .args(["--threads", &THREADS.to_string()])
        .args(["--duration", &format!("{}s", time.as_secs().max(1))])
        .args(["--timeout", "10s", "--latency", "--script"])
        .arg(script.path())
        .args([request.url, "--"])
        .arg(request.tokens)
        .args(request.client);
    parse(&output(&mut command)?, request.url)
}

fn parse(said: &str, url: &str) -> Result<WrkResult> {
    let line = said.lines().find_map(|line| line.strip_prefix("figures "));
    let figures: Option<Vec<f64>> = line
        .map(|line| {
            line.split(' ')
                .map(str::parse)
                .collect::<std::result::Result<_, _>>()
        })
        .transpose()?;
    match figures.as_deref() {
        Some([requests, micros, p50, p99, 0.0]) if *requests > 0.0 => Ok(WrkResult {
            requests: *requests,
            rate: requests / micros * 1e6,
            p50_ms: p50 / 1e3,
            p99_ms: p99 / 1e3,
        }),
        Some([requests, .., errors]) => {
            fail(format!("{url}: {errors} of {requests} requests failed"))
        }
        _ => fail(format!("cannot read the output of wrk: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn figures_are_read_and_failures_are_not_passed_over() {
        let asked = parse("Running 1s test\nfigures 5000 2000000 400 2500 0\n", "x").unwrap();
        assert_eq!((asked.rate, asked.p50_ms, asked.p99_ms), (2500.0, 0.4, 2.5));
        assert!(parse("figures 5000 2000000 400 2500 3\n", "x").is_err());
        assert!(parse("figures 0 2000000 0 0 0\n", "x").is_err());
        assert!(parse("nothing", "x").is_err());
    }
}
