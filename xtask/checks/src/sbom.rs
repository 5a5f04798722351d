//! `cargo xtask sbom PROGRAM`: prints the components of a program as a CycloneDX 1.6 document.
//!
//! The same lock file gives the same bytes: there is no time and no serial number, and everything is sorted.

use crate::dependencies::{metadata, reached};
use cargo_metadata::{Metadata, Package, PackageId};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use xtask_kit::cmd::{Result, fail};

#[derive(clap::Args)]
pub(crate) struct SbomOptions {
    /// A program of this workspace, such as notifier
    program: String,
}

pub(crate) fn sbom(options: &SbomOptions) -> Result {
    println!("{}", text(&options.program)?);
    Ok(())
}

/// Returns the document of a program.
pub(crate) fn text(program: &str) -> Result<String> {
    let document = document(&metadata()?, program)?;
    Ok(serde_json::to_string_pretty(&document)?)
}

fn document(metadata: &Metadata, program: &str) -> Result<Value> {
    let Some(root) = of_program(metadata, program) else {
        return fail(format!("no crate of this workspace builds `{program}`"));
    };
    let ids = reached(metadata, [root.id.clone()]);
    let of = |id: &PackageId| metadata.packages.iter().find(|package| package.id == *id);
    let mut packages: Vec<&Package> = ids.iter().filter_map(of).collect();
    packages.sort_by_key(|package| reference(package));
    let parts = packages.iter().filter(|package| package.id != root.id);
    let main = component(root, program, "application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": main },
        "components": parts.map(|package| component(package, &package.name, "library")).collect::<Vec<_>>(),
        "dependencies": packages.iter().map(|package| uses(metadata, package, &ids)).collect::<Vec<_>>(),
    }))
}

fn of_program<'a>(metadata: &'a Metadata, program: &str) -> Option<&'a Package> {
    metadata.workspace_packages().into_iter().find(|package| {
        let mut targets = package.targets.iter();
        targets.any(|target| target.is_bin() && target.name == program)
    })
}

fn component(package: &Package, name: &str, kind: &str) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": name,
        "version": package.version.to_string(),
    });
    let Some(fields) = component.as_object_mut() else {
        return component;
    };
    if package.source.is_some() {
        fields.insert("purl".to_owned(), reference(package).into());
    }
    if let Some(licence) = &package.license {
        // Older manifests separate alternatives by a slash, which is not an operator of SPDX.
        let expression = licence.replace('/', " OR ");
        fields.insert("licenses".to_owned(), json!([{ "expression": expression }]));
    }
    component
}

/// Returns the name of a package in the document: its package URL.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn uses(metadata: &Metadata, package: &Package, within: &BTreeSet<PackageId>) -> Value {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let node = nodes.filter(|node| node.id == package.id);
    let used = node.flat_map(|node| &node.deps).map(|used| &used.pkg);
    let used = used.filter(|id| within.contains(id));
    let of = |id: &PackageId| metadata.packages.iter().find(|package| package.id == *id);
    let names: BTreeSet<String> = used.filter_map(of).map(reference).collect();
    json!({ "ref": reference(package), "dependsOn": names })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_listed_with_what_it_is_made_of_and_nothing_else() {
        let metadata = metadata().unwrap();
        let document = document(&metadata, "notifier").unwrap();
        assert_eq!(document["metadata"]["component"]["name"], "notifier");
        let parts = document["components"].as_array().unwrap();
        let names: Vec<_> = parts
            .iter()
            .filter_map(|part| part["name"].as_str())
            .collect();
        assert!(names.contains(&"lapin") && names.contains(&"event-types"));
        assert!(!names.contains(&"test-kit") && !names.contains(&"identity-service"));
        let lapin = parts.iter().find(|part| part["name"] == "lapin").unwrap();
        assert!(
            lapin["purl"]
                .as_str()
                .unwrap()
                .starts_with("pkg:cargo/lapin@")
        );
        assert_eq!(
            document["dependencies"].as_array().unwrap().len(),
            parts.len() + 1
        );
        assert_eq!(document, super::document(&metadata, "notifier").unwrap());
    }

    #[test]
    fn what_no_crate_makes_has_no_list() {
        assert!(document(&metadata().unwrap(), "nothing").is_err());
    }
}
