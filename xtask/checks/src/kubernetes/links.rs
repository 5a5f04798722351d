//! What manifests say of each other: selectors select somebody, ports by name are there, backends exist.

use super::folder::{Folder, Manifest, items, text, texts};
use super::workload::{Workload, has_port};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn check(folder: &Folder) -> Vec<String> {
    let workloads: Vec<Workload> = Workload::all(folder).collect();
    let mut complaints = Vec::new();
    for workload in &workloads {
        complaints.extend(own_pods(workload, &workloads));
        complaints.extend(probes(workload));
    }
    for manifest in folder.sent() {
        complaints.extend(match manifest.kind() {
            "Service" => service(manifest, &workloads),
            "PodDisruptionBudget" => one(manifest, "/spec/selector", &workloads),
            "NetworkPolicy" => policy(manifest, &workloads),
            "Ingress" => ingress(manifest, folder),
            _ => Vec::new(),
        });
    }
    complaints
}

/// The labels that a selector wants; of expressions nothing is known here.
fn wanted<'a>(owner: &str, selector: &'a Value, complaints: &mut Vec<String>) -> &'a Value {
    if selector.get("matchExpressions").is_some() {
        complaints.push(format!(
            "{owner}: matchExpressions are not understood by this check"
        ));
    }
    selector.get("matchLabels").unwrap_or(&Value::Null)
}

/// A selector that is for the pods of one Deployment.
fn one(manifest: &Manifest, place: &str, workloads: &[Workload]) -> Vec<String> {
    let mut complaints = Vec::new();
    let Some(selector) = manifest.document.pointer(place) else {
        return vec![format!("{}: there is no {place}", manifest.title())];
    };
    let labels = wanted(&manifest.title(), selector, &mut complaints);
    complaints.extend(exactly_one(&manifest.title(), labels, workloads));
    complaints
}

fn exactly_one(owner: &str, labels: &Value, workloads: &[Workload]) -> Option<String> {
    let found = workloads.iter().filter(|it| it.has(labels));
    let names: Vec<String> = found.map(Workload::title).collect();
    match names.as_slice() {
        [_] => None,
        [] => Some(format!("{owner}: no pod has the labels {labels}")),
        _ => Some(format!(
            "{owner}: {labels} are labels of {}",
            names.join(" and of ")
        )),
    }
}

fn own_pods(workload: &Workload, workloads: &[Workload]) -> Vec<String> {
    let mut complaints = Vec::new();
    if workload.is_server() {
        complaints.extend(one(workload.manifest, "/spec/selector", workloads));
    }
    for spread in items(workload.spec(), "/topologySpreadConstraints") {
        let selector = spread.get("labelSelector").unwrap_or(&Value::Null);
        if !workload.has(wanted(&workload.title(), selector, &mut complaints)) {
            complaints.push(format!(
                "{}: is spread by labels of others",
                workload.title()
            ));
        }
    }
    complaints
}

fn probes(workload: &Workload) -> Vec<String> {
    let mut complaints = Vec::new();
    for container in workload.containers() {
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            match container.pointer(&format!("/{probe}/httpGet/port")) {
                Some(port) if has_port(container, port) => {}
                Some(port) => complaints.push(format!(
                    "{}: {probe}: there is no port {port}",
                    workload.title()
                )),
                None if workload.is_server() => {
                    complaints.push(format!("{}: there is no {probe}", workload.title()))
                }
                None => {}
            }
        }
    }
    complaints
}

fn service(manifest: &Manifest, workloads: &[Workload]) -> Vec<String> {
    let title = manifest.title();
    let labels = manifest
        .document
        .pointer("/spec/selector")
        .unwrap_or(&Value::Null);
    let mut complaints: Vec<String> = exactly_one(&title, labels, workloads).into_iter().collect();
    for port in items(&manifest.document, "/spec/ports") {
        let target = port
            .get("targetPort")
            .or_else(|| port.get("port"))
            .unwrap_or(&Value::Null);
        let pods = workloads.iter().filter(|it| it.has(labels));
        complaints.extend(without_port(&title, target, pods));
    }
    complaints
}

fn without_port<'a>(
    owner: &str,
    port: &Value,
    pods: impl Iterator<Item = &'a Workload<'a>>,
) -> Vec<String> {
    let lacking = pods.filter(|pods| !pods.has_port(port));
    lacking
        .map(|pods| format!("{owner}: {} has no port {port}", pods.title()))
        .collect()
}

fn policy(manifest: &Manifest, workloads: &[Workload]) -> Vec<String> {
    let (title, document) = (manifest.title(), &manifest.document);
    let mut complaints = Vec::new();
    let selector = document
        .pointer("/spec/podSelector")
        .unwrap_or(&Value::Null);
    let own = some(&title, selector, workloads, &mut complaints);
    for rule in items(document, "/spec/ingress") {
        // Who calls need not have the port.
        peers(&title, items(rule, "/from"), workloads, &mut complaints);
        complaints.extend(without_named_ports(&title, rule, &own));
    }
    for rule in items(document, "/spec/egress") {
        let called = peers(&title, items(rule, "/to"), workloads, &mut complaints);
        complaints.extend(without_named_ports(&title, rule, &called));
    }
    complaints
}

/// The workloads that a selector selects, at least one.
fn some<'a>(
    owner: &str,
    selector: &Value,
    workloads: &[Workload<'a>],
    complaints: &mut Vec<String>,
) -> Vec<Workload<'a>> {
    let labels = wanted(owner, selector, complaints);
    let found = workloads.iter().filter(|it| it.has(labels));
    let found: Vec<Workload> = found.copied().collect();
    if found.is_empty() {
        complaints.push(format!("{owner}: no pod has the labels {labels}"));
    }
    found
}

/// The workloads among those whom a rule is about. Pods in namespaces that it selects are others'.
fn peers<'a>(
    owner: &str,
    peers: &[Value],
    workloads: &[Workload<'a>],
    complaints: &mut Vec<String>,
) -> Vec<Workload<'a>> {
    let near = peers
        .iter()
        .filter(|peer| peer.get("namespaceSelector").is_none());
    let selectors = near.filter_map(|peer| peer.get("podSelector"));
    selectors
        .flat_map(|selector| some(owner, selector, workloads, complaints))
        .collect()
}

/// What a rule says of ports by name, against those who are called there.
fn without_named_ports(owner: &str, rule: &Value, called: &[Workload]) -> Vec<String> {
    let mut complaints = Vec::new();
    let ports = items(rule, "/ports")
        .iter()
        .filter_map(|port| port.get("port"));
    for port in ports.filter(|port| port.is_string()) {
        if called.is_empty() {
            complaints.push(format!("{owner}: nobody here has the port {port}"));
        }
        complaints.extend(without_port(owner, port, called.iter()));
    }
    complaints
}

fn ingress(manifest: &Manifest, folder: &Folder) -> Vec<String> {
    let title = manifest.title();
    let mut complaints = Vec::new();
    let (mut hosts, mut secured) = (BTreeSet::new(), BTreeSet::new());
    for tls in items(&manifest.document, "/spec/tls") {
        secured.extend(texts(tls, "/hosts"));
    }
    for rule in items(&manifest.document, "/spec/rules") {
        hosts.insert(text(rule, "/host"));
        for path in items(rule, "/http/paths") {
            let backend = path.pointer("/backend/service").unwrap_or(&Value::Null);
            let name = text(backend, "/name");
            let mut services = folder.of_kind("Service");
            let service = services.find(|it| text(&it.document, "/metadata/name") == name);
            let port = backend.get("port").unwrap_or(&Value::Null);
            if !service.is_some_and(|service| offers(&service.document, port)) {
                let path = text(path, "/path");
                complaints.push(format!(
                    "{title}: {path}: no Service {name} has the port {port}"
                ));
            }
        }
    }
    if hosts != secured {
        complaints.push(format!(
            "{title}: its rules are for {hosts:?}, its certificates for {secured:?}"
        ));
    }
    complaints
}

/// Whether a Service has the port that an Ingress names, or numbers.
fn offers(service: &Value, wanted: &Value) -> bool {
    let mut ports = items(service, "/spec/ports").iter();
    ports.any(|port| match (wanted.get("name"), wanted.get("number")) {
        (None, None) => false,
        (name, None) => port.get("name") == name,
        (_, number) => port.get("port") == number,
    })
}

#[cfg(test)]
mod tests;
