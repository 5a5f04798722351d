//! No more than three files of a crate import each other in a circle.
//!
//! A file imports another one when it names what is written there: in a private `use`, or by a path in its code. A path is
//! followed through modules and re-exports to the file in which the item is written. So a `mod.rs` that declares its
//! children and passes their items on imports nothing. One whose own code calls them, to add their routes say, does: what
//! the children need of it has to stand in another file. The call of a method names no file and is not seen, and tests may
//! import what they like.

mod graph;
mod module;

use std::collections::BTreeMap;
use xtask_kit::cmd::Result;

use crate::source::Source;
pub(super) use graph::Graph;
use module::Module;

/// The most files of one circle.
const MOST: usize = 3;

/// Who imports whom, a graph for each crate.
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
    Ok(crates.into_values().map(Graph::of).collect())
}

pub(super) fn check(graphs: &[Graph]) -> Vec<String> {
    let mut complaints = Vec::new();
    for graph in graphs {
        for circle in graph.circles().iter().filter(|it| it.len() > MOST) {
            complaints.push(format!(
                "{} files import each other, at most {MOST}; the shortest circle:{}",
                circle.len(),
                graph.shortest(circle)
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests;
