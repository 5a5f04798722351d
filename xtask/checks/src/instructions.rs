//! The instructions of a validation relative to those of a request that does nothing. They are the same on a busy and on an
//! idle machine, so that a change that makes the hottest path slower is seen before it is merged.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use xtask_fixtures::accounts::register;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::http::Client;
use xtask_fixtures::servers;
use xtask_kit::cmd::{Result, cargo, fail, output, run, wait_until};
use xtask_kit::env_vars;
use xtask_kit::system::{self, Program, RESPONDER, UNLIMITED};

/// The instructions of a validation of a cached token, relative to those of the bare responder. A change of that path
/// changes this line, too, and says why.
const RATIO: f64 = 3.67;
/// The relative deviation that is not reported as a change.
const TOLERANCE: f64 = 0.05;
/// Requests that are counted, and requests before them that warm up everything.
const REQUESTS: u32 = 1_000;
const WARM: u32 = 300;

/// Compares the measured ratio with the recorded one.
pub(crate) fn check() -> Result {
    if env_vars::which("valgrind").is_none() {
        servers::install(&["valgrind"])?;
    }
    system::build(false, &["identity-service"])?;
    run(cargo().args(["build", "--workspace", "--example", RESPONDER]))?;
    let folder = fresh_folder("instructions-")?;
    let folder = folder.path();
    let (ours, bytes) = validation(folder)?;
    let bare = responder(folder, bytes)?;
    let ratio = ours / bare;
    println!(
        "validate: {ours:.0} instructions, a bare response {bare:.0}: {ratio:.3} times ({RATIO:.3} ± {:.0} %)",
        TOLERANCE * 100.0
    );
    if (ratio / RATIO - 1.0).abs() <= TOLERANCE {
        return Ok(());
    }
    fail(format!(
        "a validation costs {ratio:.3} bare responses, recorded are {RATIO:.3}: if the change is intended, update RATIO in {}",
        file!()
    ))
}

/// Returns the instructions of a validation, and the bytes of its response.
fn validation(folder: &Path) -> Result<(f64, usize)> {
    let mut command = counted("identity", folder);
    command
        .arg(system::binary(false, "identity-service"))
        .arg("serve")
        .env("IDENTITY__LISTEN", "127.0.0.1:0")
        .env("IDENTITY__DATA_DIR", folder.join("data"))
        .env("IDENTITY__WORKERS", "1")
        .envs(UNLIMITED);
    let program = Program::start(&mut command, &["identity"], &folder.join("identity.log"))?;
    let address = program.address("identity")?;
    let mut client = Client::new(address, &register(address, "ada")?).with_patience(PATIENCE);
    let path = "/api/auth/validate";
    let bytes = client.text(path)?.len();
    Ok((each(program, client, path, "identity", folder)?, bytes))
}

/// Returns the instructions of a response of the HTTP library alone, with a body of this size.
fn responder(folder: &Path, bytes: usize) -> Result<f64> {
    let mut command = counted(RESPONDER, folder);
    command
        .arg(system::binary(false, &format!("examples/{RESPONDER}")))
        .arg(bytes.to_string());
    let program = Program::start(&mut command, &[RESPONDER], &folder.join("responder.log"))?;
    let token = "x".repeat(600);
    let client = Client::new(program.address(RESPONDER)?, &token).with_patience(PATIENCE);
    each(program, client, "/api/auth/validate", RESPONDER, folder)
}

/// The timeout of a request: Valgrind makes a program some fifty times slower.
const PATIENCE: Duration = Duration::from_secs(60);

fn counted(name: &str, folder: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=callgrind"])
        .arg(door(folder))
        .arg(format!("--callgrind-out-file={}", counts(name, folder)));
    command
}

/// Returns the option for the folder of callgrind's control files, so that they are deleted with it.
fn door(folder: &Path) -> String {
    format!("--vgdb-prefix={}", folder.join("vgdb").display())
}

fn counts(name: &str, folder: &Path) -> String {
    folder.join(format!("{name}.counts")).display().to_string()
}

/// Returns the instructions of one request, as a mean over many.
fn each(
    mut program: Program,
    mut client: Client,
    path: &str,
    name: &str,
    folder: &Path,
) -> Result<f64> {
    let process = program.process().id().to_string();
    let mut ask = |times: u32| -> Result {
        for _ in 0..times {
            client.text(path)?;
        }
        Ok(())
    };
    ask(WARM)?;
    let tell = |what: &str| {
        output(Command::new("callgrind_control").args([&door(folder), what, &process]))
    };
    tell("--zero")?;
    ask(REQUESTS)?;
    tell("--dump")?;
    let dump = format!("{}.1", counts(name, folder));
    let total = total(Path::new(&dump))?;
    Ok(total / f64::from(REQUESTS))
}

/// Returns the total at the end of a dump.
fn total(dump: &Path) -> Result<f64> {
    let mut total: Option<f64> = None;
    let otherwise = format!("callgrind wrote no total into {}", dump.display());
    wait_until(PATIENCE, Duration::from_millis(100), &otherwise, || {
        let text = std::fs::read_to_string(dump).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
        total = line.map(|total| total.trim().parse()).transpose()?;
        Ok(total.is_some())
    })?;
    Ok(total.unwrap_or_default())
}
