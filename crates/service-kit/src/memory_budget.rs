//! The memory limit of this process, and which share of it each consumer gets.

use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1024 * 1024;

/// Shares of the memory limit, in bytes unless noted. Of a limit of 256 MiB they leave 70 MiB for everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryBudget {
    /// Request bodies over 64 KiB, together.
    pub large_bodies: u64,
    /// Request bodies of 4 to 64 KiB, together.
    pub medium_bodies: u64,
    /// Photos during decoding, together.
    pub photos: u64,
    /// The number of open connections of a server.
    pub connections: usize,
}

impl MemoryBudget {
    /// Returns the shares of this process's limit: that of its control groups, else half of the machine's memory.
    #[must_use]
    pub fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group = group_limit(&groups, Path::new("/sys/fs/cgroup"));
        let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let half = machine_memory(&machine).map_or(1024 * MIB, |bytes| bytes / 2);
        Self::with_limit(group.map_or(half, |group| group.min(half * 2)))
    }

    /// Returns the shares of a limit in bytes.
    #[must_use]
    pub fn with_limit(limit: u64) -> Self {
        // An idle connection takes some 20 KiB.
        let connections = (limit / (128 * 1024)).clamp(256, 50_000);
        Self {
            large_bodies: (limit / 16 * 3).clamp(16 * MIB, 256 * MIB),
            medium_bodies: (limit / 8).clamp(8 * MIB, 64 * MIB),
            photos: (limit / 4).clamp(24 * MIB, 192 * MIB),
            connections: usize::try_from(connections).unwrap_or(usize::MAX),
        }
    }
}

/// Returns the smallest limit of the process's memory control group and its ancestors. `groups` is `/proc/self/cgroup`:
/// `0::/path` (version 2) or `N:memory:/path` (version 1).
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group: PathBuf = root.join(path.trim_start_matches('/'));
        group
            .ancestors()
            .take_while(|folder| folder.starts_with(&root))
            // A group without a limit contains "max", in version 1 a number near 2^63.
            .filter_map(|folder| {
                fs::read_to_string(folder.join(file))
                    .ok()?
                    .trim()
                    .parse()
                    .ok()
            })
            .min()
    });
    limits.min().filter(|limit| *limit < 1 << 60)
}

/// Returns `MemTotal` of `/proc/meminfo`, in bytes.
fn machine_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_on_the_way_up_counts_in_both_versions_of_control_groups() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        let limit = |groups: &str| group_limit(groups, root.path());
        write("memory.max", "max\n");
        write("pod/memory.max", "268435456\n");
        write("pod/main/memory.max", "max\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/job/memory.limit_in_bytes", "1000000\n");
        assert_eq!(limit("0::/pod/main\n"), Some(256 * MIB));
        assert_eq!(limit("0::/pod/main/not-there\n"), Some(256 * MIB));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(
            limit("4:cpu,cpuacct:/pod\n3:memory:/job\n0::/\n"),
            Some(1_000_000)
        );
        assert_eq!(limit("3:memory:/\n"), None);
        assert_eq!(limit(""), None);
        // Inside a container, its own group is the root.
        write("memory.max", "134217728\n");
        assert_eq!(limit("0::/\n"), Some(128 * MIB));
        assert_eq!(limit("0::/../other\n"), Some(128 * MIB));
    }

    #[test]
    fn the_shares_of_a_small_container_fit_into_it() {
        let shares = MemoryBudget::with_limit(256 * MIB);
        let connections = u64::try_from(shares.connections).expect("few") * 20 * 1024;
        let sum = shares.large_bodies + shares.medium_bodies + shares.photos + connections;
        assert!(sum < 190 * MIB, "{shares:?}");
        let meminfo = "MemTotal:       24576000 kB\nMemFree: 1 kB\n";
        assert_eq!(machine_memory(meminfo), Some(24_576_000 * 1024));
    }
}
