//! Checks what containers are given: variables of their own program, addresses that exist, enough time to stop.

use super::PROGRAMS;
use super::folder::{Folder, text};
use super::workload::{Workload, variables};
use serde_json::Value;
use std::collections::BTreeMap;

/// The variables that every program reads beside its own settings.
const COMMON: [&str; 2] = ["RUST_LOG", "LOG_FORMAT"];
/// Seconds after the drain that a server needs for requests in progress, and a relay for what it publishes.
const FINISHING: u64 = 10 + 12;

pub(super) fn check(folder: &Folder) -> Vec<String> {
    let mut complaints = Vec::new();
    for workload in Workload::all(folder) {
        for container in workload.containers() {
            let found = check_container(folder, &workload, container);
            let found = found.unwrap_or_else(|cause| vec![cause]);
            complaints.extend(found.iter().map(|it| format!("{}: {it}", workload.title())));
        }
    }
    complaints
}

/// Returns the program that a container runs, with the prefix of its settings.
pub(super) fn program_of(container: &Value) -> Result<(&'static str, &'static str), String> {
    let first = text(container, "/command/0");
    let mut programs = PROGRAMS.into_iter();
    let program = programs.find(|(program, _)| *program == first);
    program.ok_or_else(|| format!("its command {first:?} is not a program of Holdfast"))
}

fn check_container(
    folder: &Folder,
    workload: &Workload,
    container: &Value,
) -> Result<Vec<String>, String> {
    let (program, prefix) = program_of(container)?;
    let variables = variables(folder, container)?;
    let mut complaints = Vec::new();
    if text(container, "/image").rsplit('/').next() != Some(program) {
        complaints.push(format!("the image is not that of {program}"));
    }
    // Programs ignore settings of other parts, and so a misspelt prefix, too.
    let own = |name: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with("__"))
    };
    let strange = variables
        .keys()
        .filter(|name| !own(name) && !COMMON.contains(&name.as_str()));
    complaints.extend(strange.map(|name| format!("{name} is not a setting of {program}")));
    for (name, value) in &variables {
        complaints.extend(unknown_service(folder, name, value));
    }
    if workload.is_server() {
        complaints.extend(too_little_time(workload, prefix, &variables));
    }
    Ok(complaints)
}

/// Checks that a URL without a domain names an existing Service and port.
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
            "{key} must be set beside terminationGracePeriodSeconds"
        ));
    };
    let grace = workload.spec().get("terminationGracePeriodSeconds");
    let grace = grace.and_then(Value::as_u64).unwrap_or(30);
    let needed = drain + FINISHING;
    (grace < needed).then(|| format!("is killed after {grace} s, but needs {needed} s to stop"))
}

#[cfg(test)]
mod tests {
    use super::super::folder::tests::folder;
    use super::*;
    use serde_json::json;

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
            }],
        }}}});
        let spec = deployment.pointer_mut("/spec/template/spec").unwrap();
        *spec.pointer_mut(place).unwrap() = value;
        let files = [("notifier.env", "NOTIFIER__DRAIN_SECONDS=5\nRUST_LOG=info\n")];
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
            ("/containers/0/command", json!(["sh"]), "not a program"),
            (
                "/containers/0/envFrom/0/configMapRef/name",
                json!("n"),
                "no ConfigMap \"n\"",
            ),
            (
                variable,
                json!({"name": "NOTIFER__LISTEN", "value": "1"}),
                "NOTIFER__LISTEN is not a setting",
            ),
            (
                variable,
                json!({"name": "IDENTITY__LISTEN", "value": "1"}),
                "IDENTITY__LISTEN is not a setting",
            ),
            (
                variable,
                json!({"name": "NOTIFIER__A", "valueFrom": {}}),
                "has a valueFrom",
            ),
            (
                variable,
                json!({"name": "NOTIFIER__A", "value": "http://identity:81"}),
                "no Service identity",
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
