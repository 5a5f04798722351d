//! Checks the units in deploy/systemd with systemd's own tools.

use std::path::Path;
use std::process::Command;
use xtask_fixtures::servers;
use xtask_kit::cmd::{Context, Result, fail, run};
use xtask_kit::env_vars;

const UNITS: &str = "deploy/systemd";
/// The highest exposure of each unit, in tenths of the score of `systemd-analyze security` (100 is everything): what the
/// units have now, and no more. What remains is the network, which they need, the host's root directory, and in two of
/// them the priority of the threads that hash passwords.
const EXPOSURE: [(&str, u32); 4] = [
    ("holdfast.service", 12),
    ("identity-service.service", 12),
    ("notifier.service", 11),
    ("worksession-service.service", 11),
];

/// Checks the syntax, references and exposure of each unit. A build server installs systemd for it.
pub(crate) fn check() -> Result {
    if env_vars::which("systemd-analyze").is_none() && env_vars::is_ci() {
        servers::install(&["systemd"])?;
    }
    if env_vars::which("systemd-analyze").is_none() {
        println!("systemd: skipped, systemd-analyze is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let units = copy(&env_vars::root().join(UNITS), folder.path())?;
    if !units.iter().eq(EXPOSURE.map(|(unit, _)| unit).iter()) {
        let units = units.join(", ");
        return fail(format!(
            "{UNITS} contains {units}, but xtask/checks/src/systemd.rs lists other units"
        ));
    }
    let command = || {
        let mut command = Command::new("systemd-analyze");
        command.current_dir(folder.path());
        command
    };
    run(command()
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .args(&units))?;
    for (unit, exposure) in EXPOSURE {
        let threshold = format!("--threshold={exposure}");
        run(command()
            .args(["security", "--no-pager", "--offline=true"])
            .arg(threshold)
            .arg(unit)
            .stdout(std::process::Stdio::null()))?;
    }
    Ok(())
}

/// Copies the units with their drop-ins, and returns the names of the units. Their programs need not be installed here, so
/// each one is replaced by a program that exists everywhere.
fn copy(from: &Path, to: &Path) -> Result<Vec<String>> {
    let mut units = Vec::new();
    for entry in std::fs::read_dir(from).context(|| from.display().to_string())? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let target = to.join(&name);
        if path.is_dir() {
            std::fs::create_dir(&target)?;
            copy(&path, &target)?;
        } else if name.ends_with(".service") {
            std::fs::write(target, with_stand_in(&std::fs::read_to_string(&path)?))?;
            units.push(name);
        } else if name.ends_with(".conf") {
            std::fs::copy(&path, target)?;
        }
    }
    units.sort();
    Ok(units)
}

fn with_stand_in(unit: &str) -> String {
    let lines = unit.lines().map(|line| match line.split_once(' ') {
        Some((program, arguments)) if program.starts_with("ExecStart=") => {
            format!("ExecStart=/bin/true {arguments}")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::with_stand_in;

    #[test]
    fn a_units_program_is_stood_in_for_and_nothing_else_is_touched() {
        let unit = "[Service]\nExecStart=/usr/bin/holdfast --data-dir %S serve\nUser=holdfast";
        let expected = "[Service]\nExecStart=/bin/true --data-dir %S serve\nUser=holdfast";
        assert_eq!(with_stand_in(unit), expected);
    }
}
