//! Checks that kustomization.yaml names exactly what the folder contains.

use super::folder::{Folder, KUSTOMIZATION, items, text, texts};
use super::workload::Workload;
use std::collections::BTreeSet;

pub(super) fn check(folder: &Folder) -> Vec<String> {
    let told = folder.kustomization();
    let listed: BTreeSet<&str> = texts(told, "/resources").collect();
    let present: BTreeSet<&str> = folder.sent().map(|it| it.file.as_str()).collect();
    let mut complaints = differences(&listed, &present, "resources");

    let maps = items(told, "/configMapGenerator").iter();
    let read: BTreeSet<&str> = maps
        .flat_map(|map| texts(map, "/envs").chain(texts(map, "/files")))
        .collect();
    let files = folder.files.keys().map(String::as_str);
    let settings = files.filter(|name| !name.contains('/') && is_settings(name));
    complaints.extend(differences(
        &read,
        &settings.collect(),
        "configMapGenerator",
    ));
    for name in read.iter().filter(|name| name.ends_with(".env")) {
        let text = folder.files.get(*name).map_or("", String::as_str);
        complaints.extend(bare_lines(name, text));
    }

    let tagged: BTreeSet<&str> = items(told, "/images")
        .iter()
        .map(|image| text(image, "/name"))
        .collect();
    let run: BTreeSet<&str> = Workload::all(folder)
        .flat_map(|workload| workload.containers())
        .map(|container| text(container, "/image"))
        .collect();
    complaints.extend(differences(&tagged, &run, "images"));
    complaints
}

fn is_settings(name: &str) -> bool {
    [".env", ".toml"].iter().any(|end| name.ends_with(end))
}

fn differences(listed: &BTreeSet<&str>, present: &BTreeSet<&str>, list: &str) -> Vec<String> {
    let missing = listed.difference(present);
    let missing =
        missing.map(|it| format!("{KUSTOMIZATION}: {list} lists {it}, which does not exist"));
    let unlisted = present.difference(listed);
    let unlisted = unlisted.map(|it| format!("{KUSTOMIZATION}: {list} does not list {it}"));
    missing.chain(unlisted).collect()
}

/// Finds keys without `=`, whose value kustomize would take from its own environment.
fn bare_lines(name: &str, text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let bare =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#') && !line.contains('='));
    bare.map(|line| format!("{name}: {line} has no value"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::folder::tests::folder;
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_listed_is_there_and_what_is_there_is_listed() {
        let deployment = json!({"kind": "Deployment", "spec": {"template": {"spec": {
            "containers": [{"image": "a/b"}]}}}});
        let good = json!({
            "resources": ["all.yaml"], "images": [{"name": "a/b"}],
            "configMapGenerator": [{"name": "b", "envs": ["b.env"], "files": ["c.toml"]}],
        });
        let files = [("b.env", "A=1\nB=\n"), ("c.toml", ""), ("README.md", "")];
        let found = check(&folder([good.clone(), deployment.clone()], &files));
        assert!(found.is_empty(), "{found:?}");
        for (list, change, named) in [
            ("/resources", json!(["all.yaml", "more.yaml"]), "more.yaml"),
            ("/resources", json!([]), "all.yaml"),
            ("/images", json!([]), "a/b"),
            ("/configMapGenerator/0/envs", json!([]), "b.env"),
            (
                "/configMapGenerator/0/files",
                json!(["d.toml", "c.toml"]),
                "d.toml",
            ),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(list).unwrap() = change;
            let found = check(&folder([bad, deployment.clone()], &files));
            assert_eq!(found.len(), 1, "{list}: {found:?}");
            assert!(found[0].contains(named), "{list}: {found:?}");
        }
        let files = [("b.env", "A=1\nB\n"), ("c.toml", "")];
        let found = check(&folder([good, deployment], &files));
        assert_eq!(found, ["b.env: B has no value"]);
    }
}
