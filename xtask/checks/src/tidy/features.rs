//! Checks that tests choose no other features of a dependency than the programs. Everything above that dependency would be
//! compiled twice.

use std::collections::{BTreeMap, BTreeSet};
use xtask_kit::cmd::{Result, cargo, output};

/// The features of each package, by name and version.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Returns the features that cargo chooses for the programs alone, and for the programs with their tests.
pub(super) fn chosen() -> Result<[Features; 2]> {
    let tree = |edges: &str| -> Result<Features> {
        let mut command = cargo();
        command
            .args(["tree", "--workspace", "--locked", "--quiet"])
            .args(["--prefix", "none", "--format", "{p}|{f}", "--edges", edges]);
        Ok(parse(&output(&mut command)?))
    };
    Ok([tree("normal,build")?, tree("normal,build,dev")?])
}

fn parse(tree: &str) -> Features {
    let mut features = Features::new();
    for line in tree.lines() {
        let Some((package, chosen)) = line.split_once('|') else {
            continue;
        };
        let name: Vec<&str> = package.split(' ').take(2).collect();
        let chosen = chosen.trim_end_matches(" (*)").split(',');
        let known = features.entry(name.join(" ")).or_default();
        known.extend(chosen.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    features
}

/// Returns a complaint for each package that tests compile with other features.
pub(super) fn check([programs, tests]: &[Features; 2]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (package, chosen) in programs {
        let Some(more) = tests.get(package) else {
            continue;
        };
        let more: Vec<&str> = more.difference(chosen).map(String::as_str).collect();
        if !more.is_empty() {
            complaints.push(format!(
                "Cargo.toml: tests compile {package} once more, with {}; add that to [workspace.dependencies]",
                more.join(", ")
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_only_tests_choose_is_found() {
        let programs = parse("chrono v0.4.45|clock,std\nserde v1.0.2|\n");
        let tests =
            parse("chrono v0.4.45|clock,std,wasmbind (*)\nserde v1.0.2|\ninsta v1.0.0|json\n");
        let complaints = check(&[programs.clone(), tests]);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("chrono v0.4.45 once more, with wasmbind"));
        assert!(check(&[programs.clone(), programs]).is_empty());
    }
}
