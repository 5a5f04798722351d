//! What stands in the files: the rules, their tests, the dashboard, and the page that says what to do.
//!
//! The rules are read line by line, as they are laid out; promtool says whether they are YAML and PromQL.

use super::{Expression, FOLDER};
use serde_json::Value;
use std::path::Path;
use xtask_kit::cmd::{Context, Result};

const RULES: &str = "alerts.yml";
const TESTS: &str = "alerts_test.yml";
const DASHBOARD: &str = "grafana/dashboards/holdfast.json";
const PAGE: &str = "docs/operations.md";
/// The part of the page whose headings are alerts.
const PART: &str = "## What each alert means and what to do";

/// The files, read.
pub(super) struct Files {
    pub(super) alerts: Vec<Alert>,
    /// Those of the rules, then those of the dashboard.
    pub(super) expressions: Vec<Expression>,
    tests: String,
    page: String,
}

/// A rule that fires.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alert {
    name: String,
    expression: String,
    runbook: Option<String>,
}

impl Files {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let text =
            |path: &str| std::fs::read_to_string(root.join(path)).context(|| path.to_owned());
        let folder = |name: &str| format!("{FOLDER}/{name}");
        let alerts = alerts(&text(&folder(RULES))?);
        let dashboard: Value = serde_json::from_str(&text(&folder(DASHBOARD))?)?;
        let of_rules = alerts.iter().map(|alert| Expression {
            place: format!("{RULES}, {}", alert.name),
            text: alert.expression.clone(),
        });
        let mut expressions: Vec<Expression> = of_rules.collect();
        shown(&dashboard, "the dashboard", &mut expressions);
        Ok(Self {
            alerts,
            expressions,
            tests: text(&folder(TESTS))?,
            page: text(PAGE)?,
        })
    }

    /// A complaint for each alert that is not told of: by tests that show it firing and silent, and by a heading of
    /// the page, to which its annotation leads.
    pub(super) fn untold(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let lines = self.page.lines().skip_while(|line| *line != PART);
        let part = lines.skip(1).take_while(|line| !line.starts_with("## "));
        let headings: Vec<&str> = part.filter_map(|line| line.strip_prefix("### ")).collect();
        for Alert { name, runbook, .. } in &self.alerts {
            let (fires, silent) = shows(&self.tests, name);
            if !fires {
                complaints.push(format!("{TESTS} does not show {name} firing"));
            }
            if !silent {
                complaints.push(format!("{TESTS} does not show {name} silent"));
            }
            if !headings.contains(&name.as_str()) {
                complaints.push(format!("{PAGE} has no heading {name}"));
            }
            let expected = format!("{PAGE}#{}", name.to_lowercase());
            if runbook.as_ref() != Some(&expected) {
                complaints.push(format!("{RULES}: the runbook of {name} is not {expected}"));
            }
        }
        let is_alert = |heading: &str| self.alerts.iter().any(|alert| alert.name == heading);
        let gone = headings.iter().filter(|heading| !is_alert(heading));
        complaints.extend(gone.map(|heading| format!("{PAGE}: there is no alert {heading}")));
        complaints
    }
}

fn alerts(rules: &str) -> Vec<Alert> {
    let mut found: Vec<Alert> = Vec::new();
    // The indentation of the key whose block of text goes on.
    let mut block = None;
    for line in rules.lines() {
        let indent = line.len() - line.trim_start().len();
        let text = line.trim();
        if let (Some(key), Some(alert)) = (block, found.last_mut()) {
            if text.is_empty() || indent > key {
                alert.expression.push_str(text);
                alert.expression.push('\n');
                continue;
            }
            block = None;
        }
        if let Some(name) = text.strip_prefix("- alert: ") {
            found.push(Alert {
                name: name.to_owned(),
                expression: String::new(),
                runbook: None,
            });
        } else if let Some(alert) = found.last_mut() {
            match (text.strip_prefix("expr: "), text.strip_prefix("runbook: ")) {
                (Some("|"), _) => block = Some(indent),
                (Some(expression), _) => expression.clone_into(&mut alert.expression),
                (_, Some(runbook)) => alert.runbook = Some(runbook.to_owned()),
                _ => {}
            }
        }
    }
    found
}

/// Whether the tests show an alert firing, and silent.
fn shows(tests: &str, alert: &str) -> (bool, bool) {
    let asked = format!("ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"}}'");
    let checks = tests.split("- expr: ").skip(1);
    let (mut fires, mut silent) = (false, false);
    for check in checks.filter(|check| check.trim_start_matches('\'').starts_with(&asked)) {
        if check.contains("exp_samples: []") {
            silent = true;
        } else {
            fires = true;
        }
    }
    (fires, silent)
}

/// Every `expr` of the dashboard, with the title of what shows it.
fn shown(value: &Value, title: &str, found: &mut Vec<Expression>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| shown(value, title, found)),
        Value::Object(fields) => {
            let title = fields.get("title").and_then(Value::as_str).unwrap_or(title);
            for (key, value) in fields {
                match value.as_str() {
                    Some(text) if key == "expr" => found.push(Expression {
                        place: format!("{DASHBOARD}, {title}"),
                        // What Grafana puts in, for a step of a minute.
                        text: text.replace("$__rate_interval", "1m"),
                    }),
                    _ => shown(value, title, found),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_with_their_expressions_on_one_line_or_many() {
        let rules = "groups:\n  - name: a\n    rules:\n      - alert: One\n        expr: up == 0\n        for: 1m\n        annotations:\n          runbook: docs/operations.md#one\n\n      - alert: Two\n        expr: |\n          a\n          or b\n        for: 1m\n";
        let expected = [
            Alert {
                name: "One".to_owned(),
                expression: "up == 0".to_owned(),
                runbook: Some("docs/operations.md#one".to_owned()),
            },
            Alert {
                name: "Two".to_owned(),
                expression: "a\nor b\n".to_owned(),
                runbook: None,
            },
        ];
        assert_eq!(alerts(rules), expected);
    }

    #[test]
    fn an_alert_is_told_of_when_tests_and_the_page_name_it() {
        let file = |tests: &str, page: &str| Files {
            alerts: vec![Alert {
                name: "One".to_owned(),
                expression: "up".to_owned(),
                runbook: Some("docs/operations.md#one".to_owned()),
            }],
            expressions: Vec::new(),
            tests: tests.to_owned(),
            page: format!("### Before\n{PART}\n{page}## After\n### Later\n"),
        };
        let fires = "- expr: 'ALERTS{alertname=\"One\", alertstate=\"firing\"}'\n  exp_samples:\n    - {}\n";
        let silent =
            "- expr: 'ALERTS{alertname=\"One\", alertstate=\"firing\"}'\n  exp_samples: []\n";
        let both = format!("{fires}{silent}");
        assert!(file(&both, "### One\n").untold().is_empty());
        assert_eq!(file(fires, "### One\n").untold().len(), 1);
        assert_eq!(file(silent, "### One\n").untold().len(), 1);
        assert_eq!(file(&both, "One\n").untold().len(), 1);
        assert_eq!(file(&both, "### One\n### Two\n").untold().len(), 1);
    }

    #[test]
    fn what_a_panel_shows_is_named_by_its_title() {
        let dashboard = serde_json::json!({"panels": [
            {"title": "A", "targets": [{"expr": "rate(a[$__rate_interval])"}]},
        ]});
        let mut found = Vec::new();
        shown(&dashboard, "", &mut found);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "rate(a[1m])");
        assert!(found[0].place.ends_with(", A"));
    }
}
