//! The imports between the files of one crate.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::module::{Module, Path};

/// The files that each file imports, with the paths that do so.
pub(in crate::tidy) struct Graph(BTreeMap<String, BTreeMap<String, String>>);

impl Graph {
    pub(super) fn new(mut modules: Vec<Module>) -> Self {
        if modules.iter().any(|it| it.file.ends_with("/src/lib.rs")) {
            // The program uses the library like any other crate.
            modules.retain(|it| !it.file.ends_with("/src/main.rs"));
        }
        let tests: HashSet<Path> = modules.iter().flat_map(|it| it.tests.clone()).collect();
        let is_test = |it: &Module| tests.iter().any(|test| it.place.starts_with(test));
        modules.retain(|it| !is_test(it));
        let lookup = Lookup(modules.iter().map(|it| (it.place.as_slice(), it)).collect());
        let imports = |it: &Module| (it.file.clone(), lookup.imports(it));
        Self(modules.iter().map(imports).collect())
    }

    /// Returns each import: the file, the file that it imports, and the path that does so.
    pub(in crate::tidy) fn imports(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().flat_map(|(from, imports)| {
            let imports = imports.iter();
            imports.map(move |(to, path)| (from.as_str(), to.as_str(), path.as_str()))
        })
    }

    /// Returns the groups of files that each reach all others of their group.
    pub(super) fn circles(&self) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> = (self.0.keys())
            .map(|from| (from.as_str(), self.ways(from).into_keys().collect()))
            .collect();
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|it| it.contains(to));
        let mut circles: Vec<BTreeSet<&str>> = Vec::new();
        for (file, all) in &reached {
            let is_known = circles.iter().any(|circle| circle.contains(file));
            if reaches(file, file) && !is_known {
                let back = all.iter().copied().filter(|other| reaches(other, file));
                circles.push(back.collect());
            }
        }
        circles
    }

    /// Returns the shortest cycle in a group, one line for each import.
    pub(super) fn shortest(&self, circle: &BTreeSet<&str>) -> String {
        let rounds = circle.iter().filter_map(|start| {
            let ways = self.ways(start);
            let mut round = vec![*start];
            let mut at = *ways.get(start)?;
            while at != *start {
                round.push(at);
                at = *ways.get(at)?;
            }
            round.push(*start);
            round.reverse();
            Some(round)
        });
        let round = rounds.min_by_key(Vec::len).unwrap_or_default();
        let imports = round.iter().zip(round.iter().skip(1));
        let lines = imports.filter_map(|(from, to)| {
            let path = self.0.get(*from)?.get(*to)?;
            Some(format!("\n    {from} names {path} of {to}"))
        });
        lines.collect()
    }

    /// Returns the files that can be reached from a file, each with the file from which it is reached first.
    fn ways(&self, start: &str) -> BTreeMap<&str, &str> {
        let mut ways = BTreeMap::new();
        let mut waiting = VecDeque::from_iter(self.0.get_key_value(start));
        while let Some((from, imports)) = waiting.pop_front() {
            for to in imports.keys() {
                if !ways.contains_key(to.as_str()) {
                    ways.insert(to.as_str(), from.as_str());
                    waiting.extend(self.0.get_key_value(to));
                }
            }
        }
        ways
    }
}

/// The modules of a crate, by their places.
struct Lookup<'a>(HashMap<&'a [String], &'a Module>);

impl Lookup<'_> {
    fn imports(&self, module: &Module) -> BTreeMap<String, String> {
        let mut imports = BTreeMap::new();
        for path in &module.used {
            let root = self.rooted(module, path);
            // The import of a module as a whole does not use anything yet.
            let root = root.filter(|root| !self.0.contains_key(root.as_slice()));
            if let Some(file) = root.and_then(|root| self.find(&root, 0))
                && file != module.file
            {
                imports.insert(file.to_owned(), path.join("::"));
            }
        }
        imports
    }

    /// Turns a path in a module into one from the crate's root; `None` if it leads out of the crate.
    fn rooted(&self, module: &Module, path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let mut place = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.place.clone(),
            "super" => parent(&module.place),
            _ => match module.names.get(first) {
                Some(full) if full.first() != Some(first) => self.rooted(module, full)?,
                _ => Some(module.child(first)).filter(|it| self.0.contains_key(it.as_slice()))?,
            },
        };
        for name in rest {
            match name.as_str() {
                "super" => place = parent(&place),
                _ => place.push(name.clone()),
            }
        }
        Some(place)
    }

    /// Returns the file that defines what a path from the root names.
    fn find(&self, root: &[String], steps: usize) -> Option<&str> {
        let ends = (0..=root.len()).rev();
        let mut splits = ends.filter_map(|end| root.split_at_checked(end));
        let (module, rest) = splits.find_map(|(place, rest)| Some((*self.0.get(place)?, rest)))?;
        let here = Some(module.file.as_str());
        let Some((name, rest)) = rest.split_first() else {
            return here;
        };
        // Re-exports can form a cycle.
        if module.items.contains(name) || steps > self.0.len() {
            return here;
        }
        if let Some(path) = module.names.get(name) {
            let place = self.rooted(module, path)?;
            return self.find(&[&place, rest].concat(), steps + 1);
        }
        let globs = module.globs.iter();
        let mut sources = globs.filter_map(|glob| self.rooted(module, glob));
        let source = sources.find(|place| {
            let source = self.0.get(place.as_slice());
            source.is_some_and(|it| it.items.contains(name) || it.names.contains_key(name))
        });
        match source {
            Some(place) => self.find(
                &[place.as_slice(), std::slice::from_ref(name), rest].concat(),
                steps + 1,
            ),
            None => here,
        }
    }
}

fn parent(place: &[String]) -> Path {
    place
        .split_last()
        .map_or_else(Vec::new, |(_, parent)| parent.to_vec())
}
