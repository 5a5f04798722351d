use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `PROGRAM check-config` in a new folder, with and without a data directory that nobody may write to, and compares the
/// content before and after. The program has to succeed.
pub fn assert_check_config_writes_nothing(program: &str, variables: &[(&str, &str)]) {
    for (data_dir, exists) in [
        (None, false),
        (None, true),
        (Some("elsewhere"), false),
        (Some("elsewhere"), true),
    ] {
        let root = tempfile::tempdir().unwrap();
        if exists {
            let folder = root.path().join(data_dir.unwrap_or("data"));
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
        }
        let before = listing(root.path());
        let mut command = Command::new(program);
        command.current_dir(root.path()).arg("check-config");
        if let Some(folder) = data_dir {
            command.args(["--data-dir", folder]);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {data_dir:?}: {text}");
        assert_eq!(listing(root.path()), before, "{program} {data_dir:?}");
    }
}

/// Runs `PROGRAM check-config` with each of the keys set to 0, and with a file and a broken link as the data directory. The program has to report
/// each of these faults in one line.
pub fn assert_check_config_reports(program: &str, variables: &[(&str, &str)], zeros: &[&str]) {
    let error_line = |args: &[&str], key: Option<&str>| {
        let mut command = Command::new(program);
        command.arg("check-config").args(args);
        command.envs(variables.iter().copied().chain(key.map(|key| (key, "0"))));
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{program} {key:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{program} {key:?}: {text}");
        text
    };
    for key in zeros {
        let text = error_line(&[], Some(key));
        let rule = format!("{key} must be at least 1");
        assert!(text.contains(&rule), "{program}: {text}");
    }
    let root = tempfile::tempdir().unwrap();
    let (file, link) = (root.path().join("file"), root.path().join("link"));
    fs::write(&file, "").unwrap();
    symlink("nothing", &link).unwrap();
    for path in [file, link] {
        let path = path.to_str().unwrap();
        let text = error_line(&["--data-dir", path], None);
        assert!(text.contains(path), "{program}: {text}");
    }
}

fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(listing(&path));
        }
        paths.push(path);
    }
    paths.sort();
    paths
}
