//! What containers are given: variables of their own program, files that are mounted, time to end in.

use super::PROGRAMS;
use super::folder::{Folder, text};
use super::workload::{Workload, variables};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is read beside a program's own settings.
const COMMON: [&str; 2] = ["RUST_LOG", "LOG_FORMAT"];
/// Seconds that a server takes after its drain for requests under way, and a relay for what it publishes.
const FINISHING: u64 = 10 + 12;

pub(super) fn check(folder: &Folder) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut named = BTreeSet::new();
    for workload in Workload::all(folder) {
        for container in workload.containers() {
            let found = check_container(folder, &workload, container, &mut named);
            let found = found.unwrap_or_else(|cause| vec![cause]);
            complaints.extend(found.iter().map(|it| format!("{}: {it}", workload.title())));
        }
    }
    complaints.extend(unused(folder, &named));
    complaints
}

/// The program that a container runs, with the prefix of its settings.
pub(super) fn program_of(container: &Value) -> Result<(&'static str, &'static str), String> {
    let first = text(container, "/command/0");
    let mut programs = PROGRAMS.into_iter();
    let program = programs.find(|(program, _)| *program == first);
    program.ok_or_else(|| format!("its command begins with {first:?}, which is no program of ours"))
}

/// Adds the files that it names to `named`, each with its Secret's example.
fn check_container(
    folder: &Folder,
    workload: &Workload,
    container: &Value,
    named: &mut BTreeSet<String>,
) -> Result<Vec<String>, String> {
    let (program, prefix) = program_of(container)?;
    let (variables, mounted) = (
        variables(folder, container)?,
        workload.mounted(folder, container)?,
    );
    let mut complaints = Vec::new();
    if text(container, "/image").rsplit('/').next() != Some(program) {
        complaints.push(format!("the image is not that of {program}"));
    }
    // Settings of other parts are ignored, and so is a prefix that is misspelt.
    let own = |name: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with("__"))
    };
    let strange = variables
        .keys()
        .filter(|name| !own(name) && !COMMON.contains(&name.as_str()));
    complaints.extend(strange.map(|name| format!("{name} is no setting of {program}")));
    for (name, value) in files(container, &variables) {
        if mounted.contains_key(&value) {
            named.insert(value);
        } else {
            complaints.push(format!("{name}: nothing mounts {value}"));
        }
    }
    named.extend(
        mounted
            .values()
            .flat_map(|text| mounted.keys().filter(|path| text.contains(*path)))
            .cloned(),
    );
    for (name, value) in &variables {
        complaints.extend(unknown_service(folder, name, value));
    }
    if workload.is_server() {
        complaints.extend(too_little_time(workload, prefix, &variables));
    }
    Ok(complaints)
}

/// The files that a container is told of, with where it is told.
fn files<'a>(
    container: &'a Value,
    variables: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (String, String)> + 'a {
    let arguments = ["/command", "/args"].into_iter();
    let arguments = arguments.flat_map(|place| super::folder::texts(container, place));
    let arguments = arguments.filter(|argument| argument.starts_with('/'));
    let arguments = arguments.map(|path| ("command".to_owned(), path.to_owned()));
    let named = variables.iter().filter(|(name, _)| name.ends_with("_FILE"));
    arguments.chain(named.map(|(name, path)| (name.clone(), path.clone())))
}

/// What calls something here by its name has to find it.
fn unknown_service(folder: &Folder, name: &str, value: &str) -> Option<String> {
    let authority = value.strip_prefix("http://")?.split('/').next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    if host.contains('.') {
        return None;
    }
    let has_port = |service: &Value| {
        let ports = super::folder::items(service, "/spec/ports").iter();
        let mut ports = ports.filter_map(|own| own.get("port")?.as_u64());
        ports.any(|own| own.to_string() == port)
    };
    let mut services = folder.of_kind("Service");
    let found = services.any(|service| {
        text(&service.document, "/metadata/name") == host && has_port(&service.document)
    });
    (!found).then(|| format!("{name}: there is no Service {host} with the port {port}"))
}

fn too_little_time(
    workload: &Workload,
    prefix: &str,
    variables: &BTreeMap<String, String>,
) -> Option<String> {
    let key = format!("{prefix}__DRAIN_SECONDS");
    let Some(drain) = variables
        .get(&key)
        .and_then(|value| value.parse::<u64>().ok())
    else {
        return Some(format!(
            "{key} has to stand beside terminationGracePeriodSeconds"
        ));
    };
    let grace = workload.spec().get("terminationGracePeriodSeconds");
    let grace = grace.and_then(Value::as_u64).unwrap_or(30);
    let needed = drain + FINISHING;
    (grace < needed).then(|| format!("is killed after {grace} s, and needs {needed} to end"))
}

/// Keys of Secrets that no container is told of.
fn unused(folder: &Folder, named: &BTreeSet<String>) -> Vec<String> {
    let examples = folder.files.keys().filter_map(|file| {
        let secret = file
            .strip_prefix("secrets/")?
            .strip_suffix(".example.env")?;
        Some((file, secret))
    });
    let keys: BTreeSet<&str> = named
        .iter()
        .filter_map(|path| path.rsplit('/').next())
        .collect();
    let mut complaints = Vec::new();
    for (file, secret) in examples {
        let unread = folder.secret(secret).unwrap_or_default().into_keys();
        let unread = unread.filter(|key| !keys.contains(key.as_str()));
        complaints.extend(unread.map(|key| format!("{file}: {key} is read by nobody")));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::folder::tests::folder;
    use super::*;
    use serde_json::json;

    const SECRET: (&str, &str) = ("secrets/notifier.example.env", "broker-url=amqp://\n");

    fn complaints(place: &str, value: Value) -> Vec<String> {
        let kustomization =
            json!({"configMapGenerator": [{"name": "notifier", "envs": ["notifier.env"]}]});
        let service = json!({"kind": "Service", "metadata": {"name": "identity"}, "spec": {"ports": [{"port": 80}]}});
        let mut deployment = json!({"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": {"spec": {
            "terminationGracePeriodSeconds": 60,
            "containers": [{
                "image": "x/notifier", "command": ["notifier", "serve"],
                "envFrom": [{"configMapRef": {"name": "notifier"}}],
                "env": [{"name": "NOTIFIER__BROKER__URL_FILE", "value": "/s/broker-url"}],
                "volumeMounts": [{"name": "s", "mountPath": "/s"}],
            }],
            "volumes": [{"name": "s", "secret": {"secretName": "notifier"}}],
        }}}});
        let spec = deployment.pointer_mut("/spec/template/spec").unwrap();
        *spec.pointer_mut(place).unwrap() = value;
        let files = [
            SECRET,
            ("notifier.env", "NOTIFIER__DRAIN_SECONDS=5\nRUST_LOG=info\n"),
        ];
        check(&folder([kustomization, deployment, service], &files))
    }

    #[test]
    fn what_fits_passes() {
        let found = complaints("/terminationGracePeriodSeconds", json!(27));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn what_a_container_is_not_given_or_would_ignore_is_found() {
        let variable = "/containers/0/env/0";
        for (place, value, said) in [
            (
                "/containers/0/image",
                json!("x/other"),
                "not that of notifier",
            ),
            ("/containers/0/command", json!(["sh"]), "no program of ours"),
            (
                "/containers/0/command",
                json!(["notifier", "/s/c"]),
                "nothing mounts /s/c",
            ),
            (
                "/containers/0/envFrom/0/configMapRef/name",
                json!("n"),
                "no ConfigMap \"n\"",
            ),
            (
                "/containers/0/env/0/value",
                json!("/s/other"),
                "nothing mounts /s/other",
            ),
            (
                "/containers/0/volumeMounts/0/mountPath",
                json!("/t"),
                "nothing mounts /s/broker-url",
            ),
            (
                "/containers/0/volumeMounts/0/name",
                json!("t"),
                "no volume t",
            ),
            (
                "/volumes/0/secret/secretName",
                json!("t"),
                "no secrets/t.example.env",
            ),
            (
                "/volumes/0/secret",
                json!({"secretName": "notifier", "items": [{"key": "k"}]}),
                "no key k",
            ),
            (
                variable,
                json!({"name": "NOTIFER__LISTEN", "value": "1"}),
                "NOTIFER__LISTEN is no setting",
            ),
            (
                variable,
                json!({"name": "IDENTITY__LISTEN", "value": "1"}),
                "IDENTITY__LISTEN is no setting",
            ),
            (
                variable,
                json!({"name": "NOTIFIER__A", "valueFrom": {}}),
                "is taken from elsewhere",
            ),
            (
                variable,
                json!({"name": "NOTIFIER__A", "value": "http://identity:81"}),
                "no Service identity",
            ),
            (
                variable,
                json!({"name": "NOTIFIER__A", "value": ""}),
                "broker-url is read by nobody",
            ),
            ("/terminationGracePeriodSeconds", json!(26), "needs 27"),
        ] {
            let found = complaints(place, value.clone());
            assert!(
                found.iter().any(|it| it.contains(said)),
                "{place} {value}: {found:?}"
            );
        }
    }
}
