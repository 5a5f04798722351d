//! Compares the paths that the Ingress forwards with those in the code: all that users call, and none of the others.

use super::folder::{Folder, items, text};
use crate::source::Source;
use serde_json::Value;

/// The Services that users reach, each with the crates that define its paths.
const SERVICES: [(&str, &[&str]); 2] = [
    ("identity-service", &["identity-service"]),
    ("worksession-service", &["worksession-service", "dashboard"]),
];
/// The paths that every service serves to users without naming them in its own crate.
const DESCRIPTION: [&str; 2] = ["/docs", "/openapi.json"];
/// The paths that every service serves only inside the cluster.
const INTERNAL: [&str; 3] = ["/metrics", "/health/live", "/health/ready"];

/// Compares the Ingress with the sources of all crates.
pub(super) fn check(folder: &Folder, sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (service, crates) in SERVICES {
        let forwarded = forwarded(folder, service);
        let own: Vec<&Source> = sources
            .iter()
            .filter(|it| is_code(it) && crates.contains(&owner(it)))
            .collect();
        let mut answered: Vec<String> = DESCRIPTION.map(str::to_owned).to_vec();
        for source in &own {
            match paths_of(source, &own) {
                Ok(paths) => answered.extend(paths),
                Err(what) => complaints.push(format!(
                    "crates/{}: this check cannot read the path of endpoint({what})",
                    source.path
                )),
            }
        }
        answered.sort();
        answered.dedup();
        let missing = answered
            .iter()
            .filter(|path| !forwarded.iter().any(|rule| rule.takes(path)));
        complaints.extend(missing.map(|path| format!("ingress: {service} lacks {path}")));
        let internal = INTERNAL
            .iter()
            .filter(|path| forwarded.iter().any(|rule| rule.takes(path)));
        complaints.extend(internal.map(|path| format!("ingress: users reach {path} of {service}")));
        let idle = forwarded
            .iter()
            .filter(|rule| !answered.iter().any(|path| rule.takes(path)));
        complaints
            .extend(idle.map(|rule| format!("ingress: {service} has nothing at {}", rule.path)));
    }
    complaints
}

/// Returns the crate of a file.
fn owner(source: &Source) -> &str {
    source.path.split('/').next().unwrap_or_default()
}

fn is_code(source: &Source) -> bool {
    source.path.contains("/src/") && source.path.ends_with(".rs")
}

/// A path of the Ingress.
struct Rule<'a> {
    path: &'a str,
    kind: &'a str,
}

impl Rule<'_> {
    /// Whether the rule matches a path, as the API defines it: a prefix ends at a segment's end.
    fn takes(&self, path: &str) -> bool {
        let below = || path.strip_prefix(self.path.trim_end_matches('/'));
        match self.kind {
            "Exact" => path == self.path,
            "Prefix" => below().is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            // Each controller interprets other kinds in its own way, so they count as matching everything.
            _ => true,
        }
    }
}

fn forwarded<'a>(folder: &'a Folder, service: &str) -> Vec<Rule<'a>> {
    let ingresses = folder.of_kind("Ingress");
    let rules = ingresses.flat_map(|it| items(&it.document, "/spec/rules"));
    let paths = rules.flat_map(|rule| items(rule, "/http/paths"));
    let own = paths.filter(|path: &&Value| text(path, "/backend/service/name") == service);
    own.map(|path| Rule {
        path: text(path, "/path"),
        kind: text(path, "/pathType"),
    })
    .collect()
}

/// Returns the paths that a file registers, or the argument whose path cannot be read.
fn paths_of<'a>(source: &'a Source, all: &[&'a Source]) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    for after in source.text.split("endpoint(").skip(1) {
        let argument = after
            .trim_start()
            .trim_start_matches("&format!(")
            .trim_start();
        let end = argument.find([')', ',']).unwrap_or(argument.len());
        let shown = argument.get(..end).unwrap_or_default();
        match argument
            .strip_prefix('"')
            .and_then(|text| text.split('"').next())
        {
            Some(written) => match written
                .strip_prefix('{')
                .and_then(|rest| rest.split_once('}'))
            {
                Some((name, rest)) => {
                    let begins = constants(name, source, all);
                    if begins.is_empty() {
                        return Err(shown.to_owned());
                    }
                    paths.extend(begins.iter().map(|begin| format!("{begin}{rest}")));
                }
                None => paths.push(written.to_owned()),
            },
            None => {
                let values = constants(shown, source, all);
                if values.is_empty() {
                    return Err(shown.to_owned());
                }
                paths.extend(values.into_iter().map(str::to_owned));
            }
        }
    }
    Ok(paths)
}

/// Returns the values of a constant: that of the file itself, otherwise all with this name in the crate.
fn constants<'a>(name: &str, source: &'a Source, all: &[&'a Source]) -> Vec<&'a str> {
    let opening = format!("const {name}: &str = \"");
    let value = |it: &'a Source| {
        let (_, after) = it.text.split_once(&opening)?;
        after.split('"').next()
    };
    if let Some(own) = value(source) {
        return vec![own];
    }
    let others = all.iter().filter(|it| owner(it) == owner(source));
    others.filter_map(|it| value(it)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::folder::tests::folder;
    use super::*;
    use serde_json::json;

    fn source(owner: &str, text: &str) -> Source {
        Source {
            path: format!("{owner}/src/routes.rs"),
            text: text.to_owned(),
        }
    }

    fn complaints(paths: &[(&str, &str)], sources: &[Source]) -> Vec<String> {
        let rules = SERVICES.map(|(service, _)| {
            let paths = paths.iter().map(|(path, kind)| {
                json!({"path": path, "pathType": kind, "backend": {"service": {"name": service}}})
            });
            json!({"http": {"paths": paths.collect::<Vec<_>>()}})
        });
        let ingress = json!({"kind": "Ingress", "spec": {"rules": rules}});
        check(&folder([json!({}), ingress], &[]), sources)
    }

    #[test]
    fn paths_in_the_code_are_forwarded_and_internal_ones_are_not() {
        let code =
            "const HOME: &str = \"/today\";\nendpoint(HOME).get(a); endpoint(\n  \"/api/a\",\n)";
        let sources = [
            source("identity-service", code),
            source(
                "dashboard",
                "endpoint(\"/today/{id}\") endpoint(\"/api/b\")",
            ),
        ];
        let good = [
            ("/docs", "Prefix"),
            ("/openapi.json", "Exact"),
            ("/today", "Prefix"),
            ("/api", "Prefix"),
        ];
        let found = complaints(&good, &sources);
        assert!(found.is_empty(), "{found:?}");
        for left_out in 0..good.len() {
            let mut paths = good.to_vec();
            paths.remove(left_out);
            assert_eq!(complaints(&paths, &sources).len(), 2, "{left_out}");
        }
        for more in [
            ("/", "Prefix"),
            ("/health", "Prefix"),
            ("/metrics", "Exact"),
            ("/hea", "ImplementationSpecific"),
        ] {
            let found = complaints(&[&good[..], &[more]].concat(), &sources);
            assert!(
                found.iter().any(|it| it.contains("users reach")),
                "{more:?}: {found:?}"
            );
        }
        let found = complaints(&[&good[..], &[("/gone", "Prefix")]].concat(), &sources);
        assert!(
            found.iter().all(|it| it.contains("nothing at /gone")),
            "{found:?}"
        );
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_prefix_ends_where_a_segment_ends() {
        let rule = Rule {
            path: "/team",
            kind: "Prefix",
        };
        assert!(rule.takes("/team") && rule.takes("/team/a"));
        assert!(!rule.takes("/teams"));
    }

    #[test]
    fn a_path_that_is_put_together_is_read_or_complained_about() {
        let read = |text: &str| {
            let source = source("dashboard", text);
            paths_of(&source, &[&source])
        };
        let constant = "const PATH: &str = \"/a/{id}\"; ";
        let found = read(&format!(
            "{constant}endpoint(&format!(\"{{PATH}}{{rest}}\"))"
        ));
        assert_eq!(found, Ok(vec!["/a/{id}{rest}".to_owned()]));
        assert_eq!(read("endpoint(&path)"), Err("&path".to_owned()));
        assert_eq!(read("endpoint(OTHER)"), Err("OTHER".to_owned()));
    }
}
