//! A control group with a limit of memory, as a container has it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask_kit::cmd::{Result, fail};

/// A group of its own under the root; removed when dropped.
pub(super) struct MemoryGroup {
    folder: PathBuf,
    peak: &'static str,
}

/// Where groups are made, the file of the limit, and that of the peak: version 2, then version 1.
const VERSIONS: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.max_usage_in_bytes",
    ),
];

impl MemoryGroup {
    /// None where this process may not make one.
    pub(super) fn new(limit_mib: u64) -> Option<Self> {
        VERSIONS.into_iter().find_map(|(root, limit, peak)| {
            let folder = PathBuf::from(root).join(format!("holdfast-bench-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Self { folder, peak };
            let limit = group.folder.join(limit);
            // Without control of memory the file is not there; nothing may be made of it.
            limit.exists().then_some(())?;
            fs::write(limit, (limit_mib << 20).to_string()).ok()?;
            // What does not fit is not to be moved out to a disk.
            let _ = fs::write(group.folder.join("memory.swap.max"), "0");
            Some(group)
        })
    }

    /// The command as one that runs inside of the group.
    pub(super) fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("sh");
        wrapped
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(self.folder.join("cgroup.procs"))
            .arg(command.get_program())
            .args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(key, value),
                None => wrapped.env_remove(key),
            };
        }
        wrapped
    }

    /// The most that the group ever had, in MiB.
    pub(super) fn peak_mib(&self) -> Result<u64> {
        let text = fs::read_to_string(self.folder.join(self.peak))?;
        Ok(text.trim().parse::<u64>()?.div_ceil(1 << 20))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Empty: its process has ended.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The most that a process ever had, in MiB.
pub(super) fn peak_mib(id: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    match line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()) {
        Some(kib) => Ok(kib.div_ceil(1024)),
        None => fail("the process is gone"),
    }
}
