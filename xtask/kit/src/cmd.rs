//! Starts programs, waits for them, and ends them on Ctrl-C.

use crate::env_vars;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// The error of a task: one sentence for the terminal.
#[derive(Debug)]
pub struct Failure(String);

/// The result of a task or a step.
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

/// Returns a [`Failure`] with this sentence.
pub fn fail<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Failure(sentence.into()))
}

/// Adds to an error what was attempted.
pub trait Context<T> {
    /// Prefixes the error with what was attempted.
    fn context(self, tried: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, tried: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Failure(format!("{}: {e}", tried())))
    }
}

/// Runs the task of a program. Ctrl-C makes [`nap`] fail, and a failure is printed.
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

/// Makes SIGINT and SIGTERM set a flag, so that the tool stops its children before it ends. A second signal ends the
/// tool at once.
fn watch_signals() -> Result {
    let flag = Arc::clone(INTERRUPTED.get_or_init(Arc::default));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(())
}

/// Whether the tool has been asked to end.
pub fn interrupted() -> bool {
    INTERRUPTED
        .get()
        .is_some_and(|flag| flag.load(Ordering::SeqCst))
}

/// Sleeps, or fails as soon as the tool is asked to end.
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

/// Checks a condition every `pause`, and returns whether it became true within `patience`.
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

/// Like [`came_true`], but fails with the sentence `otherwise` if the condition stays false.
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

/// Returns `cargo` in the root of the checkout, with the target folder of this run.
pub fn cargo() -> Command {
    let mut command = Command::new(env_vars::var("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(env_vars::root())
        .env("CARGO_TARGET_DIR", env_vars::target_dir());
    command
}

/// Prints a command and runs it; fails if the command fails.
pub fn run(command: &mut Command) -> Result {
    announce(command);
    let name = name_of(command);
    let mut group = ProcessGroup::spawn(command.stdin(Stdio::null()))?;
    let ended = group.wait();
    if ended.is_err() {
        // The command may be a task that has servers to stop.
        group.stop(Duration::from_secs(60));
    }
    succeeded(&name, ended?)
}

/// Like [`run`], but also passes each line of standard output to `line` after printing it.
pub fn run_reading(command: &mut Command, line: impl FnMut(&str)) -> Result {
    CapturedOutput::start(command)?.finish(line)
}

/// A running program whose standard output is buffered until it is read.
pub struct CapturedOutput {
    name: String,
    group: ProcessGroup,
    lines: mpsc::Receiver<String>,
}

impl CapturedOutput {
    /// Prints a command and starts it.
    pub fn start(command: &mut Command) -> Result<Self> {
        announce(command);
        let name = name_of(command);
        let mut group = ProcessGroup::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let lines = group.lines()?;
        Ok(Self { name, group, lines })
    }

    /// Prints each line and passes it to `line` until the program ends; fails if the program fails.
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

/// Runs a command quietly and returns its standard output.
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
    // The announcement precedes the child's output, even in a pipe.
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

/// A child in its own process group: processes that it starts end with it.
pub struct ProcessGroup {
    child: Child,
}

impl ProcessGroup {
    /// Starts a command in a new process group.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.process_group(0).spawn().context(|| name)?;
        Ok(Self { child })
    }

    /// Gives the command no input, and sends its output to the file `log`.
    pub fn into_log<'a>(command: &'a mut Command, log: &Path) -> Result<&'a mut Command> {
        let log = File::create(log)?;
        let command = command.stdin(Stdio::null()).stdout(log.try_clone()?);
        Ok(command.stderr(log))
    }

    /// Waits until `answers` returns true. Fails with the log if the child ends before that, or after three minutes, which
    /// suffice even on a busy machine.
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
                return fail(format!("{name} did not start: {}", log.trim()));
            }
            nap(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// The id of the child and of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the child to end; fails if the tool is asked to end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            nap(Duration::from_millis(20))?;
        }
    }

    /// Whether the child is still running.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the lines of the child's piped standard output as they arrive.
    pub fn lines(&mut self) -> Result<mpsc::Receiver<String>> {
        let Some(out) = self.child.stdout.take() else {
            return fail("the child's standard output is not piped");
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

    /// Sends SIGTERM to the group, and SIGKILL when the child has ended or after `patience`.
    pub fn stop(&mut self, patience: Duration) {
        if self.is_alive() {
            self.signal("TERM");
        }
        let until = Instant::now() + patience;
        while self.is_alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Processes that the child left in the background end as well.
        self.signal("KILL");
        self.child.wait().ok();
    }

    /// Sends a signal, such as `TERM`, to the whole group.
    pub fn signal(&self, signal: &str) {
        // The standard library can send only SIGKILL, and to one process only; every shell has `kill` built in.
        let script = format!("kill -s {signal} -- -{}", self.child.id());
        Command::new("sh")
            .args(["-c", &script])
            .stderr(Stdio::null())
            .status()
            .ok();
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(5));
    }
}
