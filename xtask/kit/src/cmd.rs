//! Starting programs, waiting for them, and ending them when somebody presses Ctrl-C.

use crate::envs;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// Why a task failed: one sentence for a person.
#[derive(Debug)]
pub struct Failure(String);

/// What a task comes to.
pub type Result<T = ()> = std::result::Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A failure with this sentence.
pub fn fail<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Failure(sentence.into()))
}

/// Adds what was tried to what went wrong.
pub trait Context<T> {
    /// The same failure with what was tried before it.
    fn context(self, tried: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, tried: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Failure(format!("{}: {e}", tried())))
    }
}

/// The end of a program that does one task: Ctrl-C is seen by [`nap`], and a failure is said.
pub fn task(task: impl FnOnce() -> Result) -> ExitCode {
    match watch_signals().and_then(|()| task()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on SIGINT and SIGTERM set a flag, so that what was started is stopped before the end.
/// A second one ends the tool at once.
fn watch_signals() -> Result {
    let flag = Arc::clone(INTERRUPTED.get_or_init(Arc::default));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(())
}

/// Whether somebody asked the tool to end.
pub fn interrupted() -> bool {
    INTERRUPTED
        .get()
        .is_some_and(|flag| flag.load(Ordering::SeqCst))
}

/// Sleeps, but fails as soon as somebody asks the tool to end.
pub fn nap(time: Duration) -> Result {
    let until = Instant::now() + time;
    loop {
        if interrupted() {
            return fail("interrupted");
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(20)));
    }
}

/// Asks every `pause` until it is so, and says whether it was within `patience`.
pub fn came_true(
    patience: Duration,
    pause: Duration,
    mut is_so: impl FnMut() -> Result<bool>,
) -> Result<bool> {
    let until = Instant::now() + patience;
    while !is_so()? {
        if Instant::now() > until {
            return Ok(false);
        }
        nap(pause)?;
    }
    Ok(true)
}

/// As [`came_true`], and fails with the sentence where it was not.
pub fn wait_until(
    patience: Duration,
    pause: Duration,
    otherwise: &str,
    is_so: impl FnMut() -> Result<bool>,
) -> Result {
    match came_true(patience, pause, is_so)? {
        true => Ok(()),
        false => fail(otherwise),
    }
}

/// `cargo` in the root of the checkout, with the target folder this run uses.
pub fn cargo() -> Command {
    let mut command = Command::new(envs::var("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(envs::root())
        .env("CARGO_TARGET_DIR", envs::target_dir());
    command
}

/// Says what it runs, runs it, and fails when it fails.
pub fn run(command: &mut Command) -> Result {
    announce(command);
    let name = name_of(command);
    let mut group = Group::spawn(command.stdin(Stdio::null()))?;
    let ended = group.wait();
    if ended.is_err() {
        // It may be a task that has servers to stop.
        group.stop(Duration::from_secs(60));
    }
    succeeded(&name, ended?)
}

/// As [`run`], and hands every line of standard output to `line` after showing it.
pub fn run_reading(command: &mut Command, line: impl FnMut(&str)) -> Result {
    Reading::start(command)?.finish(line)
}

/// A program that runs, whose standard output is kept until it is read.
pub struct Reading {
    name: String,
    group: Group,
    lines: mpsc::Receiver<String>,
}

impl Reading {
    /// Says what it starts, and starts it.
    pub fn start(command: &mut Command) -> Result<Self> {
        announce(command);
        let name = name_of(command);
        let mut group = Group::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let lines = group.lines()?;
        Ok(Self { name, group, lines })
    }

    /// Shows every line up to the end and hands it to `line`; fails when the program fails.
    pub fn finish(mut self, mut line: impl FnMut(&str)) -> Result {
        loop {
            match self.lines.recv_timeout(Duration::from_millis(50)) {
                Ok(text) => {
                    println!("{text}");
                    line(&text);
                }
                Err(mpsc::RecvTimeoutError::Timeout) if interrupted() => {
                    return fail("interrupted");
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        succeeded(&self.name, self.group.wait()?)
    }
}

/// Runs quietly and returns standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let name = name_of(command);
    let out = command
        .stdin(Stdio::null())
        .output()
        .context(|| name.clone())?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return fail(format!("{name}: {} {}", out.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn announce(command: &Command) {
    println!("$ {}", shown(command));
    // What the child prints must come after its announcement, in a pipe too.
    std::io::stdout().flush().ok();
}

fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let args = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(program)
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}

fn name_of(command: &Command) -> String {
    shown(command)
        .split(' ')
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

fn succeeded(name: &str, status: ExitStatus) -> Result {
    if status.success() {
        Ok(())
    } else {
        fail(format!("`{name}` failed ({status})"))
    }
}

/// A child in a process group of its own: what it started ends with it.
pub struct Group {
    child: Child,
}

impl Group {
    /// Starts it.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.process_group(0).spawn().context(|| name)?;
        Ok(Self { child })
    }

    /// Has it read nothing, and write what it says into this file.
    pub fn into_log<'a>(command: &'a mut Command, log: &Path) -> Result<&'a mut Command> {
        let log = File::create(log)?;
        let command = command.stdin(Stdio::null()).stdout(log.try_clone()?);
        Ok(command.stderr(log))
    }

    /// Waits until it `answers`; fails with its log when it ends before that, or takes longer than a machine does that
    /// has much else to do.
    pub fn wait_answering(
        &mut self,
        name: &str,
        log: &Path,
        mut answers: impl FnMut() -> bool,
    ) -> Result {
        let until = Instant::now() + Duration::from_secs(180);
        while !answers() {
            if !self.is_alive() || Instant::now() > until {
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return fail(format!("{name} does not start: {}", log.trim()));
            }
            nap(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Of the child, and of the group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end; ends it when somebody asks the tool to end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            nap(Duration::from_millis(20))?;
        }
    }

    /// Whether it is still running.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The lines of the child's piped standard output as they come.
    pub fn lines(&mut self) -> Result<mpsc::Receiver<String>> {
        let Some(out) = self.child.stdout.take() else {
            return fail("no standard output");
        };
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(receiver)
    }

    /// Asks the group to end, and after `patience` ends it.
    pub fn stop(&mut self, patience: Duration) {
        if self.is_alive() {
            self.signal("TERM");
        }
        let until = Instant::now() + patience;
        while self.is_alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        // What it left in the background goes too.
        self.signal("KILL");
        self.child.wait().ok();
    }

    /// Sends a signal to the whole group.
    pub fn signal(&self, signal: &str) {
        // The standard library can only SIGKILL one process; every shell has `kill` built in.
        let script = format!("kill -s {signal} -- -{}", self.child.id());
        Command::new("sh")
            .args(["-c", &script])
            .stderr(Stdio::null())
            .status()
            .ok();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(5));
    }
}
