use std::{
    collections::HashMap,
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a program may take to listen, or to stop.
const TIMEOUT: Duration = Duration::from_secs(40);

/// A real program of ours, started with its own environment; killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    output: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Output {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    stdout: Vec<String>,
    stderr: Vec<String>,
    stdout_closed: bool,
}

impl Process {
    /// Starts `program` with exactly these variables (and `PATH`).
    pub fn start<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        program: &Path,
        args: &[&str],
        env: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let output = Arc::new(Output::default());
        let readers = vec![
            collect(child.stdout.take().unwrap(), Arc::clone(&output), true),
            collect(child.stderr.take().unwrap(), Arc::clone(&output), false),
        ];
        Self {
            child,
            output,
            readers,
        }
    }

    /// Waits for `listening NAME URL` of each name and returns the URLs. Panics, showing the log, when the program ends before.
    pub fn wait_listening(&self, names: &[&str]) -> HashMap<String, String> {
        let deadline = Instant::now() + TIMEOUT;
        let mut lines = self.output.lines.lock().unwrap();
        loop {
            let found: HashMap<String, String> = lines
                .stdout
                .iter()
                .filter_map(|line| listening(line))
                .collect();
            if names.iter().all(|name| found.contains_key(*name)) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !lines.stdout_closed && !left.is_zero(),
                "{names:?} do not listen:\n{}\n{}",
                lines.stdout.join("\n"),
                lines.stderr.join("\n")
            );
            lines = self.output.changed.wait_timeout(lines, left).unwrap().0;
        }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the program (`kill -9`), which can finish nothing. Returns when the process is gone.
    pub fn kill(&mut self) {
        // An error means that the process is gone already.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Stops the program with SIGTERM and waits for its end.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Sends a signal, by name.
    pub fn signal(&self, name: &str) {
        // The shell's own `kill`, because a minimal machine has no program of that name.
        let script = format!("kill -s {name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &script]).status();
        assert!(sent.unwrap().success(), "kill -{name}");
    }

    /// Waits for the end of the program; panics when it does not end.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                for reader in self.readers.drain(..) {
                    reader.join().unwrap();
                }
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "the program does not end:\n{}",
                self.stderr()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether the program has ended for any reason.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Returns its standard output so far.
    pub fn stdout(&self) -> String {
        self.output.lines.lock().unwrap().stdout.join("\n")
    }

    /// Returns its standard error so far.
    pub fn stderr(&self) -> String {
        self.output.lines.lock().unwrap().stderr.join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            let log = self.stderr();
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            eprintln!("the end of the program's log:");
            for line in tail.iter().rev() {
                eprintln!("  {line}");
            }
        }
    }
}

fn collect(
    source: impl Read + Send + 'static,
    output: Arc<Output>,
    stdout: bool,
) -> JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            let mut lines = output.lines.lock().unwrap();
            if stdout {
                &mut lines.stdout
            } else {
                &mut lines.stderr
            }
            .push(line);
            output.changed.notify_all();
        }
        if stdout {
            output.lines.lock().unwrap().stdout_closed = true;
            output.changed.notify_all();
        }
    })
}

fn listening(line: &str) -> Option<(String, String)> {
    let (name, url) = line.strip_prefix("listening ")?.split_once(' ')?;
    Some((name.to_owned(), url.to_owned()))
}
