//! Checks that no more than three files of a crate import each other in a cycle.
//!
//! A file imports another one when it names something defined there: in a private `use`, or by a path in its code. A path is
//! followed through modules and re-exports to the file that defines the item. So a `mod.rs` that declares its children and
//! re-exports their items imports nothing. If its own code calls them, to add their routes for example, it imports them, and
//! what the children need of it has to move to another file. A method call names no file and is not seen. Tests may import
//! anything.

mod graph;
mod module;

use std::collections::BTreeMap;
use xtask_kit::cmd::Result;

use crate::source::Source;
pub(super) use graph::Graph;
use module::Module;

/// The largest number of files in a cycle.
const MOST: usize = 3;

/// Returns the import graph of each crate.
pub(super) fn graphs(files: &[Source]) -> Result<Vec<Graph>> {
    let mut crates: BTreeMap<&str, Vec<Module>> = BTreeMap::new();
    for file in files {
        let Some((folder, path)) = file.path.split_once("/src/") else {
            continue;
        };
        if let Some(place) = module::place(path) {
            let module = Module::read(&file.path, place, &file.text)?;
            crates.entry(folder).or_default().push(module);
        }
    }
    Ok(crates.into_values().map(Graph::new).collect())
}

pub(super) fn check(graphs: &[Graph]) -> Vec<String> {
    let mut complaints = Vec::new();
    for graph in graphs {
        for circle in graph.circles().iter().filter(|it| it.len() > MOST) {
            complaints.push(format!(
                "{} files import each other, at most {MOST}; the shortest cycle:{}",
                circle.len(),
                graph.shortest(circle)
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests;
