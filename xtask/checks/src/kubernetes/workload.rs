//! The pods of the manifests, and their containers.

use super::folder::{Folder, Manifest, items, text};
use serde_json::Value;
use std::collections::BTreeMap;

/// A Deployment or a Job, which creates pods.
#[derive(Clone, Copy)]
pub(super) struct Workload<'a> {
    pub(super) manifest: &'a Manifest,
    /// The template of its pods.
    template: &'a Value,
}

impl<'a> Workload<'a> {
    /// Returns all workloads of a folder.
    pub(super) fn all(folder: &'a Folder) -> impl Iterator<Item = Self> {
        folder.sent().filter_map(|manifest| {
            let template = manifest.document.pointer("/spec/template")?;
            Some(Self { manifest, template })
        })
    }

    pub(super) fn spec(&self) -> &'a Value {
        self.template.get("spec").unwrap_or(&Value::Null)
    }

    pub(super) fn is_server(&self) -> bool {
        self.manifest.kind() == "Deployment"
    }

    pub(super) fn title(&self) -> String {
        self.manifest.title()
    }

    /// Whether its pods have all these labels.
    pub(super) fn has(&self, labels: &Value) -> bool {
        let own = self.template.pointer("/metadata/labels");
        let mut wanted = labels.as_object().into_iter().flatten();
        wanted.all(|(key, value)| own.and_then(|own| own.get(key)) == Some(value))
    }

    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        let (first, then) = (
            items(self.spec(), "/initContainers"),
            items(self.spec(), "/containers"),
        );
        first.iter().chain(then)
    }

    /// Returns the paths of a container's mounted files, each with its text.
    pub(super) fn mounted(
        &self,
        folder: &Folder,
        container: &Value,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut mounted = BTreeMap::new();
        for mount in items(container, "/volumeMounts") {
            let (name, path) = (text(mount, "/name"), text(mount, "/mountPath"));
            let mut volumes = items(self.spec(), "/volumes").iter();
            let volume = volumes.find(|volume| text(volume, "/name") == name);
            let volume = volume.ok_or_else(|| format!("there is no volume {name}"))?;
            for (key, text) in held(folder, volume)? {
                mounted.insert(format!("{path}/{key}"), text);
            }
        }
        Ok(mounted)
    }
}

/// Returns the files of a volume, each with its text.
fn held(folder: &Folder, volume: &Value) -> Result<BTreeMap<String, String>, String> {
    let (secret, map) = (
        text(volume, "/secret/secretName"),
        text(volume, "/configMap/name"),
    );
    let all = if secret.is_empty() {
        let found = folder.config_map(map);
        found.ok_or_else(|| format!("no ConfigMap {map:?} is generated"))?
    } else {
        let found = folder.secret(secret);
        found.ok_or_else(|| format!("there is no secrets/{secret}.example.env"))?
    };
    let source = if secret.is_empty() {
        "/configMap/items"
    } else {
        "/secret/items"
    };
    let chosen = items(volume, source);
    if chosen.is_empty() {
        return Ok(all);
    }
    let chosen = chosen.iter().map(|item| {
        let key = text(item, "/key");
        let value = all.get(key).cloned();
        let value = value.ok_or_else(|| format!("{secret}{map} has no key {key}"))?;
        Ok((text(item, "/path").to_owned(), value))
    });
    chosen.collect()
}

/// Returns the environment of a container: the ConfigMaps that it names, then its own variables. Later values win.
pub(super) fn variables(
    folder: &Folder,
    container: &Value,
) -> Result<BTreeMap<String, String>, String> {
    let mut variables = BTreeMap::new();
    for source in items(container, "/envFrom") {
        let map = text(source, "/configMapRef/name");
        let found = folder.config_map(map);
        variables.extend(found.ok_or_else(|| format!("no ConfigMap {map:?} is generated"))?);
    }
    for variable in items(container, "/env") {
        let (name, value) = (text(variable, "/name"), text(variable, "/value"));
        if variable.get("valueFrom").is_some() {
            return Err(format!(
                "{name} has a valueFrom: mount a file and name it instead"
            ));
        }
        variables.insert(name.to_owned(), value.to_owned());
    }
    Ok(variables)
}
