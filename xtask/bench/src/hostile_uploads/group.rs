//! A control group with a memory limit, as a container has.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask_kit::cmd::{Result, fail};

/// A control group below the root, removed on drop.
pub(super) struct MemoryGroup {
    folder: PathBuf,
    peak: &'static str,
}

/// The folder of groups, the file of the limit, and that of the peak: version 2, then version 1.
const VERSIONS: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.max_usage_in_bytes",
    ),
];

impl MemoryGroup {
    /// Creates a group; `None` if this process is not allowed to.
    pub(super) fn new(limit_mib: u64) -> Option<Self> {
        VERSIONS.into_iter().find_map(|(root, limit, peak)| {
            let folder = PathBuf::from(root).join(format!("holdfast-bench-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Self { folder, peak };
            let limit = group.folder.join(limit);
            // Without the memory controller the file is missing, and must not be created.
            limit.exists().then_some(())?;
            fs::write(limit, (limit_mib << 20).to_string()).ok()?;
            // What exceeds the limit must not be swapped out.
            let _ = fs::write(group.folder.join("memory.swap.max"), "0");
            Some(group)
        })
    }

    /// Returns the command, wrapped so that it runs inside the group.
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

    /// Returns the peak memory of the group, in MiB.
    pub(super) fn peak_mib(&self) -> Result<u64> {
        let text = fs::read_to_string(self.folder.join(self.peak))?;
        Ok(text.trim().parse::<u64>()?.div_ceil(1 << 20))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The group is empty, because its process has ended.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Returns the peak memory of a process, in MiB.
pub(super) fn peak_mib(id: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    match line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()) {
        Some(kib) => Ok(kib.div_ceil(1024)),
        None => fail("the process is gone"),
    }
}
