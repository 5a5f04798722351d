//! The settings of every deployment in deploy/ that is for production.

use crate::check_result::verdict;
use crate::source::{Source, below};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use xtask_kit::cmd::{Context, Result};
use xtask_kit::env_vars::root;

/// The environment of all parts of a deployment together.
type Settings = BTreeMap<String, String>;

/// A deployment: its name, the file with the variables of the others, if there is one, and its files. Later files win.
struct Deployment {
    name: &'static str,
    variables: Option<&'static str>,
    files: &'static [&'static str],
}

/// All deployments. A file in deploy/ that contains settings and is in none of these is a failure.
const DEPLOYMENTS: [Deployment; 4] = [
    Deployment {
        name: "compose",
        variables: Some("deploy/production.example.env"),
        files: &[
            "deploy/compose/parts.yml",
            "docker-compose.yml",
            "deploy/compose.proxy.yml",
            "deploy/compose.scale.yml",
            "deploy/compose.production.yml",
        ],
    },
    Deployment {
        name: "Kubernetes",
        variables: None,
        files: &[
            "deploy/kubernetes/identity-service.env",
            "deploy/kubernetes/identity-service.yaml",
            "deploy/kubernetes/worksession-service.env",
            "deploy/kubernetes/worksession-service.yaml",
            "deploy/kubernetes/notifier.env",
            "deploy/kubernetes/notifier.yaml",
            "deploy/kubernetes/migrations.yaml",
        ],
    },
    Deployment {
        name: "systemd, three services",
        variables: None,
        files: &[
            "deploy/systemd/identity-service.env",
            "deploy/systemd/identity-service.service",
            "deploy/systemd/worksession-service.env",
            "deploy/systemd/worksession-service.service",
            "deploy/systemd/worksession-service.service.d/dashboard.conf",
            "deploy/systemd/notifier.env",
            "deploy/systemd/notifier.service",
            "deploy/systemd/notifier.service.d/mail.conf",
        ],
    },
    Deployment {
        name: "systemd and Debian, one process",
        variables: None,
        files: &["deploy/systemd/holdfast.env"],
    },
];

/// What a value must be.
#[derive(Clone, Copy)]
enum Rule {
    Https,
    Given,
    True,
    AtLeast(u64),
}

const A_YEAR: u64 = 31_536_000;

/// The settings that each deployment must have.
const REQUIRED: [(&str, Rule); 9] = [
    ("IDENTITY__BASE_URL", Rule::Https),
    ("WORKSESSION__BASE_URL", Rule::Https),
    ("IDENTITY__TRUSTED_PROXIES", Rule::Given),
    ("WORKSESSION__TRUSTED_PROXIES", Rule::Given),
    ("IDENTITY__HSTS_SECONDS", Rule::AtLeast(A_YEAR)),
    ("WORKSESSION__HSTS_SECONDS", Rule::AtLeast(A_YEAR)),
    ("IDENTITY__PASSWORD__MIN_STRENGTH", Rule::AtLeast(3)),
    ("IDENTITY__OAUTH__REQUIRE_PKCE_S256", Rule::True),
    ("IDENTITY__ADMIN__REQUIRE_TOTP", Rule::True),
];

/// Endings of names, and what their values must not contain.
const REFUSED: [(&str, &[&str]); 7] = [
    ("RATE_LIMITS__ENABLED", &["false"]),
    ("ALLOW_INSECURE_COOKIES", &["true"]),
    ("ALLOW_WEAK_COST", &["true"]),
    ("HTTP__ALLOW_PLAIN", &["true"]),
    ("ALLOWED_ORIGINS", &["localhost", "127.", "[::1]", "http:"]),
    ("TRUSTED_PROXIES", &["/0"]),
    ("SMTP__URL", &["tls=never"]),
];

/// Checks all deployments.
pub(crate) fn production() -> Result {
    let root = root();
    let mut complaints = strays(&root)?;
    for deployment in &DEPLOYMENTS {
        let name = deployment.name;
        let found = judge(&deployment.read(&root)?).into_iter();
        complaints.extend(found.map(|it| format!("{name}: {it}")));
    }
    let count = DEPLOYMENTS.len();
    let good = format!("{count} deployments have the required settings");
    verdict("production", &complaints, &good)
}

/// Returns the complaints about a deployment's settings.
fn judge(settings: &Settings) -> Vec<String> {
    let mut complaints = Vec::new();
    for (key, rule) in REQUIRED {
        let value = settings.get(key).map_or("", String::as_str);
        let (is_kept, wanted) = match rule {
            Rule::Https => (value.starts_with("https://"), "https://…".to_owned()),
            Rule::Given => (!value.is_empty(), "a value".to_owned()),
            Rule::True => (value == "true", "true".to_owned()),
            Rule::AtLeast(least) => {
                let number = value.parse::<u64>();
                (
                    number.is_ok_and(|it| it >= least),
                    format!("{least} or more"),
                )
            }
        };
        if !is_kept {
            complaints.push(format!("{key} is {value:?} but must be {wanted}"));
        }
    }
    for (key, value) in settings {
        let refused = REFUSED.iter().filter(|(end, _)| key.ends_with(end));
        let mut parts = refused.flat_map(|(_, parts)| *parts);
        if let Some(part) = parts.find(|part| value.contains(**part)) {
            complaints.push(format!(
                "{key} is {value:?}, but {part:?} is for development"
            ));
        }
    }
    complaints
}

/// Finds files below deploy/ that name settings and are in no deployment.
fn strays(root: &Path) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for Source { path, text } in below(&root.join("deploy"))? {
        let name = format!("deploy/{path}");
        // Documents about settings, and files with OAuth clients, which are not settings.
        let is_about = name.ends_with(".md") || name.ends_with(".toml");
        let is_known = DEPLOYMENTS.iter().any(|it| it.files.contains(&&*name));
        let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        if !is_about && !is_known && words.any(is_setting) {
            complaints.push(format!("{name} is in no deployment of {}", file!()));
        }
    }
    Ok(complaints)
}

fn is_setting(name: &str) -> bool {
    ["IDENTITY__", "WORKSESSION__", "NOTIFIER__"]
        .iter()
        .any(|part| name.starts_with(part))
}

impl Deployment {
    fn read(&self, root: &Path) -> Result<Settings> {
        let variables = match self.variables {
            Some(file) => lines(&std::fs::read_to_string(root.join(file))?),
            None => Settings::new(),
        };
        let mut settings = Settings::new();
        for file in self.files {
            let text = std::fs::read_to_string(root.join(file)).context(|| (*file).to_owned())?;
            let found = read(file, &text).context(|| (*file).to_owned())?;
            for (key, value) in found {
                settings.insert(key, fill_in(&value, &variables));
            }
        }
        Ok(settings)
    }
}

/// Reads the settings of a file, by the extension of its name.
fn read(file: &str, text: &str) -> Result<Settings> {
    if file.ends_with(".yml") || file.ends_with(".yaml") {
        let mut settings = Settings::new();
        for document in serde_yaml_ng::Deserializer::from_str(text) {
            collect(&Value::deserialize(document)?, &mut settings);
        }
        return Ok(settings);
    }
    let mut settings = lines(text);
    settings.retain(|key, _| is_setting(key));
    Ok(settings)
}

/// Returns `NAME=value` lines, including those behind a `#` to be uncommented and those behind systemd's `Environment=`.
fn lines(text: &str) -> Settings {
    let of = |line: &str| {
        let line = line.trim_start_matches('#');
        let line = line.strip_prefix("Environment=").unwrap_or(line);
        let (key, value) = line.split_once('=')?;
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        (!key.is_empty() && key.chars().all(is_name)).then(|| (key.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(of).collect()
}

/// Collects settings that are keys of a map, as in compose files, or maps with a name and a value, as in Kubernetes.
fn collect(value: &Value, settings: &mut Settings) {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, settings)),
        Value::Object(map) => {
            let name = map.get("name").and_then(Value::as_str);
            if let (Some(name), Some(value)) = (name, map.get("value").and_then(text))
                && is_setting(name)
            {
                settings.insert(name.to_owned(), value);
            }
            for (key, value) in map {
                match text(value).filter(|_| is_setting(key)) {
                    Some(value) => drop(settings.insert(key.clone(), value)),
                    None => collect(value, settings),
                }
            }
        }
        _ => {}
    }
}

/// Replaces `${NAME}`, `${NAME-other}` and `${NAME:-other}` by their values.
fn fill_in(text: &str, variables: &Settings) -> String {
    let mut rest = text;
    let mut filled = String::new();
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, after) = after.split_once('}').unwrap_or((after, ""));
        let end = inner.find([':', '-', '?']).unwrap_or(inner.len());
        let (name, other) = inner.split_at(end);
        let set = variables.get(name).map(String::as_str);
        let set = set.filter(|value| !(other.starts_with(':') && value.is_empty()));
        let other = other.trim_start_matches(':').strip_prefix('-');
        filled.push_str(before);
        filled.push_str(set.or(other).unwrap_or_default());
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deployment_sets_what_production_must_set() {
        production().expect("all of deploy/");
    }

    #[test]
    fn a_setting_that_is_missing_weak_or_for_development_is_named() {
        let good: Settings = DEPLOYMENTS[0].read(&root()).expect("it can be read");
        assert_eq!(judge(&good), Vec::<String>::new());
        for (key, _) in REQUIRED {
            let mut settings = good.clone();
            settings.remove(key);
            assert!(judge(&settings).iter().all(|it| it.contains(key)), "{key}");
            assert_eq!(judge(&settings).len(), 1, "{key}");
        }
        for (key, value) in [
            ("IDENTITY__PASSWORD__MIN_STRENGTH", "2"),
            ("IDENTITY__HSTS_SECONDS", "60"),
            ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
            (
                "IDENTITY__SSO__ALLOWED_ORIGINS",
                "https://a.example,http://localhost:*",
            ),
            ("WORKSESSION__TRUSTED_PROXIES", "0.0.0.0/0"),
            ("WORKSESSION__BASE_URL", "http://work.example.com"),
        ] {
            let mut settings = good.clone();
            settings.insert(key.to_owned(), value.to_owned());
            assert_eq!(judge(&settings).len(), 1, "{key}");
        }
    }

    #[test]
    fn settings_are_read_out_of_every_kind_of_file() {
        let yaml = "a: &a {IDENTITY__X: 'true'}\nb:\n  c:\n    - {name: IDENTITY__Y, value: 3}\n  d: *a\n---\ne: {OTHER: 1}";
        let found = read("x.yaml", yaml).expect("YAML");
        let expected = [("IDENTITY__X", "true"), ("IDENTITY__Y", "3")];
        assert!(found.iter().map(|(k, v)| (&**k, &**v)).eq(expected));
        let env =
            "# words=\nIDENTITY__X=a=b\n#IDENTITY__Y=c\nEnvironment=NOTIFIER__Z=d\nRUST_LOG=info";
        let found = read("x.env", env).expect("lines");
        let expected = [
            ("IDENTITY__X", "a=b"),
            ("IDENTITY__Y", "c"),
            ("NOTIFIER__Z", "d"),
        ];
        assert!(found.iter().map(|(k, v)| (&**k, &**v)).eq(expected));
        let variables = lines("SET=s\nEMPTY=");
        let text = "${SET:-x}/${EMPTY:-y}/${EMPTY-z}/${NONE:-n}.1/${SET:?why}";
        assert_eq!(fill_in(text, &variables), "s/y//n.1/s");
    }
}
