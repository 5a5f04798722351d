//! Runs the programs with the settings of their pods: a program rejects a key that it does not know.

use super::environment::program_of;
use super::folder::{Folder, texts};
use super::workload::{Workload, variables};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask_kit::cmd::{Context, Result, fail};

/// A value for what an example leaves to its reader, in the format of `openssl rand -base64 32`.
const MADE: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Runs `check-config` for each container, with its mounted files in a temporary folder.
pub(super) fn check(folder: &Folder, binary: impl Fn(&str) -> PathBuf) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for workload in Workload::all(folder) {
        for container in workload.containers() {
            match prepare(folder, &workload, container) {
                Ok(given) => complaints.extend(given.refusal(&binary)?),
                Err(cause) => complaints.push(cause),
            }
        }
    }
    Ok(complaints)
}

/// The settings and files of a container.
struct Given {
    title: String,
    program: &'static str,
    options: Vec<String>,
    environment: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

fn prepare(
    folder: &Folder,
    workload: &Workload,
    container: &Value,
) -> std::result::Result<Given, String> {
    let titled = |cause: String| format!("{}: {cause}", workload.title());
    let (program, _) = program_of(container).map_err(titled)?;
    // A Job has only the settings that it needs, but `check-config` requires those of a server.
    let servers = Workload::all(folder).filter(Workload::is_server);
    let servers = servers.flat_map(|it| it.containers().map(move |container| (it, container)));
    let given_by = servers
        .filter(|(_, other)| program_of(other).is_ok_and(|(name, _)| name == program))
        .chain([(*workload, container)]);
    let (mut environment, mut files) = (BTreeMap::new(), BTreeMap::new());
    for (workload, container) in given_by {
        environment.extend(variables(folder, container).map_err(titled)?);
        files.extend(workload.mounted(folder, container).map_err(titled)?);
    }
    let words = texts(container, "/command").skip(1);
    let mut options: Vec<String> = words
        .chain(texts(container, "/args"))
        .map(str::to_owned)
        .collect();
    // `check-config` takes the place of `serve` or `migrate`.
    options.pop();
    Ok(Given {
        title: workload.title(),
        program,
        options,
        environment,
        files,
    })
}

impl Given {
    /// Returns the program's error, if it rejects the settings.
    fn refusal(self, binary: impl Fn(&str) -> PathBuf) -> Result<Option<String>> {
        let program = binary(self.program);
        if !program.is_file() {
            return fail(format!("{} is not built", self.program));
        }
        let root = tempfile::tempdir()?;
        self.put_files(root.path())?;
        let moved = |given: &String| self.moved(given, root.path());
        let environment = self.environment.iter();
        let output = Command::new(&program)
            .args(self.options.iter().map(moved))
            .arg("check-config")
            .env_clear()
            .envs(environment.map(|(name, value)| (name, moved(value))))
            .current_dir(root.path())
            .stdin(Stdio::null())
            .output()
            .context(|| self.program.to_owned())?;
        if output.status.success() {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Ok(Some(format!(
            "{}: {} says: {}",
            self.title,
            self.program,
            said.trim()
        )))
    }

    fn put_files(&self, root: &Path) -> Result {
        for (path, text) in &self.files {
            let file = lies(root, path);
            if let Some(dir) = file.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let mut text = text.clone();
            for path in self.files.keys() {
                let there = lies(root, path);
                text = text.replace(&format!("\"{path}\""), &format!("\"{}\"", there.display()));
            }
            std::fs::write(file, if text.is_empty() { MADE } else { &text })?;
        }
        Ok(())
    }

    /// Returns the new path of a mounted file; anything else stays as it is.
    fn moved(&self, given: &str, root: &Path) -> OsString {
        if self.files.contains_key(given) {
            lies(root, given).into()
        } else {
            given.into()
        }
    }
}

fn lies(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::super::folder::tests::folder;
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    /// Rejects one key, requires a key of 32 bytes in a file, and reads a file that another one names.
    const PROGRAM: &str = r#"#!/bin/sh
[ "$*" = "--config $2 check-config" ] || { echo "error: called as $*" >&2; exit 1; }
[ -z "$NOTIFIER__ODD" ] || { echo "error: odd" >&2; exit 1; }
[ "$(wc -c < "$NOTIFIER__SECRETS__ENCRYPTION_KEY_FILE")" -eq 44 ] && eval cat "$(cat "$2")" > /dev/null
"#;

    fn complaints(variable: &str) -> Vec<String> {
        let kustomization = json!({"configMapGenerator": [{"name": "c", "files": ["c.toml"]}]});
        let deployment = json!({"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": {
            "containers": [{
                "command": ["notifier", "--config", "/c/c.toml", "serve"],
                "env": [
                    {"name": "NOTIFIER__SECRETS__ENCRYPTION_KEY_FILE", "value": "/s/shared-key"},
                    {"name": variable, "value": "1"},
                ],
                "volumeMounts": [{"name": "s", "mountPath": "/s"}, {"name": "c", "mountPath": "/c"}],
            }],
            "volumes": [{"name": "s", "secret": {"secretName": "notifier"}}, {"name": "c", "configMap": {"name": "c"}}],
        }}}});
        let files = [
            ("secrets/notifier.example.env", "shared-key=\n"),
            ("c.toml", "\"/s/shared-key\""),
        ];
        let bin = tempfile::tempdir().unwrap();
        let program = bin.path().join("notifier");
        std::fs::write(&program, PROGRAM).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        check(&folder([kustomization, deployment], &files), |name| {
            bin.path().join(name)
        })
        .unwrap()
    }

    #[test]
    fn a_program_says_what_it_does_not_know() {
        assert_eq!(complaints("NOTIFIER__EVEN"), Vec::<String>::new());
        assert_eq!(
            complaints("NOTIFIER__ODD"),
            ["all.yaml: Deployment a: notifier says: error: odd"]
        );
    }

    #[test]
    fn a_program_that_is_not_built_is_a_failure() {
        let job = json!({"kind": "Job", "spec": {"template": {"spec": {"containers": [{"command": ["notifier", "migrate"]}]}}}});
        let folder = folder([json!({}), job], &[]);
        assert!(check(&folder, |_| PathBuf::from("/nowhere")).is_err());
    }
}
