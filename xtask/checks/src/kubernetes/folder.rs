//! The content of the folder: manifests as JSON, the other files as text.

use crate::source::below;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use xtask_fixtures::third_party;
use xtask_kit::cmd::{Context, Result, output};
use xtask_kit::env_vars;

pub(crate) use xtask_fixtures::http::text;

/// The file that kustomize reads first.
pub(super) const KUSTOMIZATION: &str = "kustomization.yaml";
const HERE: &str = "xtask/checks/src/kubernetes";

/// The folder with its content.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) manifests: Vec<Manifest>,
    /// The texts of all other files, by their paths from the folder; files that git ignores are included.
    pub(super) files: BTreeMap<String, String>,
    /// The errors that the schemas find in the manifests.
    pub(super) complaints: Vec<String>,
}

/// A document of a file.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) file: String,
    pub(super) document: Value,
}

impl Folder {
    /// Reads the folder, and validates its manifests with the schemas of these versions.
    pub(super) fn read(path: &Path, versions: &[&str]) -> Result<Self> {
        let here = env_vars::root().join(HERE);
        let python = third_party::python_with("kubernetes", &here.join("requirements.txt"))?;
        let mut read = Command::new(python);
        read.arg(here.join("manifests.py")).arg(path).args(versions);
        let read: Value = serde_json::from_str(&output(&mut read)?)
            .context(|| "the output of manifests.py".to_owned())?;
        let manifests = items(&read, "/manifests").iter().map(|one| Manifest {
            file: text(one, "/file").to_owned(),
            document: one.get("document").cloned().unwrap_or_default(),
        });
        // The script reads the manifests.
        let files = below(path)?.into_iter();
        let files = files.filter(|file| !file.path.ends_with(".yaml"));
        Ok(Self {
            manifests: manifests.collect(),
            files: files.map(|file| (file.path, file.text)).collect(),
            complaints: texts(&read, "/complaints").map(str::to_owned).collect(),
        })
    }

    /// Returns the kustomization, or null if the file is missing.
    pub(super) fn kustomization(&self) -> &Value {
        let mut manifests = self.manifests.iter();
        let found = manifests.find(|manifest| manifest.file == KUSTOMIZATION);
        found.map_or(&Value::Null, |manifest| &manifest.document)
    }

    /// Returns all manifests that are sent to a cluster.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Manifest> {
        let manifests = self.manifests.iter();
        manifests.filter(|manifest| manifest.file != KUSTOMIZATION)
    }

    /// Returns the manifests of one kind.
    pub(super) fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Manifest> {
        self.sent().filter(move |manifest| manifest.kind() == kind)
    }

    /// Returns the content of a generated ConfigMap, by key: the lines of its `envs` and the texts of its `files`.
    pub(super) fn config_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let mut generators = items(self.kustomization(), "/configMapGenerator").iter();
        let generator = generators.find(|generator| text(generator, "/name") == name)?;
        let mut holds = BTreeMap::new();
        for file in texts(generator, "/envs") {
            holds.extend(
                self.files
                    .get(file)
                    .into_iter()
                    .flat_map(|text| lines(text)),
            );
        }
        for file in texts(generator, "/files") {
            let text = self.files.get(file).cloned();
            holds.extend(text.map(|text| (file.to_owned(), text)));
        }
        Some(holds)
    }

    /// Returns the content of a Secret, by key, as the example shows it.
    pub(super) fn secret(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let example = self.files.get(&format!("secrets/{name}.example.env"))?;
        Some(lines(example).collect())
    }
}

impl Manifest {
    pub(super) fn kind(&self) -> &str {
        text(&self.document, "/kind")
    }

    /// Returns the name of the manifest in complaints.
    pub(super) fn title(&self) -> String {
        let name = text(&self.document, "/metadata/name");
        format!("{}: {} {name}", self.file, self.kind())
    }
}

/// Returns the array at a JSON pointer, or an empty one.
pub(crate) fn items<'a>(value: &'a Value, place: &str) -> &'a [Value] {
    let found = value.pointer(place).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

/// Returns the strings in the array at a JSON pointer.
pub(super) fn texts<'a>(value: &'a Value, place: &str) -> impl Iterator<Item = &'a str> {
    items(value, place).iter().filter_map(Value::as_str)
}

/// Returns the settings of a file with one `KEY=VALUE` a line, as kustomize and kubectl read it.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (String, String)> {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        (key.to_owned(), value.to_owned())
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a folder with these documents, the first of them kustomization.yaml, and these files.
    pub(in crate::kubernetes) fn folder<const N: usize>(
        documents: [Value; N],
        files: &[(&str, &str)],
    ) -> Folder {
        let names = std::iter::once(KUSTOMIZATION).chain(std::iter::repeat("all.yaml"));
        let manifests = documents
            .into_iter()
            .zip(names)
            .map(|(document, file)| Manifest {
                file: file.to_owned(),
                document,
            });
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Folder {
            manifests: manifests.collect(),
            files: files.collect(),
            complaints: Vec::new(),
        }
    }

    #[test]
    fn a_value_may_hold_what_separates_it_from_its_key() {
        let read: Vec<_> = lines("# a=b\n\nKEY=dGVu=\nEMPTY=\n").collect();
        let expected = [("KEY", "dGVu="), ("EMPTY", "")];
        assert_eq!(
            read,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }
}
