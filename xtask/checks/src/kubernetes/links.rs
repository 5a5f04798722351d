//! Checks the references between manifests: selectors select pods, named ports and backends exist.

use super::folder::{Folder, Manifest, items, text, texts};
use super::workload::Workload;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn check(folder: &Folder) -> Vec<String> {
    let workloads: Vec<Workload> = Workload::all(folder).collect();
    let mut complaints = Vec::new();
    for workload in workloads.iter().filter(|it| it.is_server()) {
        let probes = ["startupProbe", "livenessProbe", "readinessProbe"];
        let missing = workload.containers().flat_map(|container| {
            let is_missing =
                move |probe: &&str| container.pointer(&format!("/{probe}/httpGet")).is_none();
            probes.into_iter().filter(is_missing)
        });
        let title = workload.title();
        complaints.extend(missing.map(|probe| format!("{title}: there is no {probe}")));
    }
    for manifest in folder.sent() {
        let mut links = Links {
            manifest,
            workloads: &workloads,
            complaints: Vec::new(),
        };
        links.follow(&manifest.document);
        match manifest.kind() {
            "Service" => {
                let selector = manifest.document.pointer("/spec/selector");
                links.select(selector.unwrap_or(&Value::Null));
            }
            "Ingress" => links.complaints.extend(ingress(manifest, folder)),
            _ => {}
        }
        complaints.append(&mut links.complaints);
    }
    complaints
}

/// The references of one manifest.
struct Links<'a> {
    manifest: &'a Manifest,
    workloads: &'a [Workload<'a>],
    complaints: Vec<String>,
}

impl Links<'_> {
    fn complain(&mut self, what: &str) {
        let title = self.manifest.title();
        self.complaints.push(format!("{title}: {what}"));
    }

    fn follow(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.follow(item)),
            // Pods that a rule selects in other namespaces are not in this folder.
            Value::Object(fields) if !fields.contains_key("namespaceSelector") => {
                for (key, value) in fields {
                    match (key.as_str(), value) {
                        ("matchLabels", labels) => self.select(labels),
                        ("matchExpressions", _) => {
                            self.complain("this check does not support matchExpressions");
                        }
                        ("port" | "targetPort", Value::String(port)) => self.call(port),
                        _ => self.follow(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks that labels select the pods of one Deployment. Those of a NetworkPolicy may select several.
    fn select(&mut self, labels: &Value) {
        let found = self.workloads.iter().filter(|it| it.has(labels));
        let names: Vec<String> = found.map(Workload::title).collect();
        match names.as_slice() {
            [_] => {}
            [] => self.complain(&format!("no pod has the labels {labels}")),
            _ if self.manifest.kind() == "NetworkPolicy" => {}
            _ => self.complain(&format!(
                "{labels} selects the pods of {}",
                names.join(" and of ")
            )),
        }
    }

    fn call(&mut self, port: &str) {
        let mut containers = self.workloads.iter().flat_map(|it| it.containers());
        let has_port = |container: &Value| {
            let mut ports = items(container, "/ports").iter();
            ports.any(|own| text(own, "/name") == port)
        };
        if !containers.any(has_port) {
            self.complain(&format!("no container has the port {port}"));
        }
    }
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

/// Whether a Service has the port that an Ingress refers to by name or by number.
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
