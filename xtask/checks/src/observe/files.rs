//! The content of the files: the rules, their tests, the dashboard, and the page that says what to do.

use crate::kubernetes::{items, text};
use serde_json::Value;
use std::path::Path;
use xtask_kit::cmd::{Context, Result};

/// Their folder, from the root.
pub(super) const FOLDER: &str = "deploy/observe";
const RULES: &str = "alerts.yml";
const TESTS: &str = "alerts_test.yml";
const DASHBOARD: &str = "grafana/dashboards/holdfast.json";
const PAGE: &str = "docs/operations.md";
/// The part of the page that has a heading for each alert.
const PART: &str = "## What each alert means and what to do";

/// An expression in PromQL, and where it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) place: String,
    pub(super) text: String,
}

/// The files, parsed.
pub(super) struct Files {
    pub(super) alerts: Vec<Alert>,
    /// The expressions of the rules, then those of the dashboard.
    pub(super) expressions: Vec<Expression>,
    tests: Value,
    page: String,
}

/// An alerting rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alert {
    name: String,
    expression: String,
    runbook: String,
}

impl Files {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let file =
            |path: &str| std::fs::read_to_string(root.join(path)).context(|| path.to_owned());
        let yaml = |name: &str| -> Result<Value> {
            Ok(serde_yaml_ng::from_str(&file(&format!(
                "{FOLDER}/{name}"
            ))?)?)
        };
        let alerts = alerts(&yaml(RULES)?);
        let of_rules = alerts.iter().map(|alert| Expression {
            place: format!("{RULES}, {}", alert.name),
            text: alert.expression.clone(),
        });
        let mut expressions: Vec<Expression> = of_rules.collect();
        // JSON is YAML, too.
        shown(&yaml(DASHBOARD)?, "the dashboard", &mut expressions);
        Ok(Self {
            alerts,
            expressions,
            tests: yaml(TESTS)?,
            page: file(PAGE)?,
        })
    }

    /// Returns a complaint for each alert that lacks a test that shows it firing, one that shows it silent, or a heading of the
    /// page to which its annotation links.
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
            if *runbook != expected {
                complaints.push(format!("{RULES}: the runbook of {name} is not {expected}"));
            }
        }
        let is_alert = |heading: &str| self.alerts.iter().any(|alert| alert.name == heading);
        let gone = headings.iter().filter(|heading| !is_alert(heading));
        complaints.extend(gone.map(|heading| format!("{PAGE}: there is no alert {heading}")));
        complaints
    }
}

fn alerts(rules: &Value) -> Vec<Alert> {
    let groups = items(rules, "/groups").iter();
    let rules = groups.flat_map(|group| items(group, "/rules"));
    let alerts = rules.filter(|rule| rule.get("alert").is_some());
    let alerts = alerts.map(|rule| Alert {
        name: text(rule, "/alert").to_owned(),
        expression: text(rule, "/expr").to_owned(),
        runbook: text(rule, "/annotations/runbook").to_owned(),
    });
    alerts.collect()
}

/// Whether the tests show an alert firing, and silent.
fn shows(tests: &Value, alert: &str) -> (bool, bool) {
    let asked = format!("ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"}}");
    let tests = items(tests, "/tests").iter();
    let checks = tests.flat_map(|test| items(test, "/promql_expr_test"));
    let checks = checks.filter(|check| text(check, "/expr") == asked);
    let (silent, fires): (Vec<_>, Vec<_>) =
        checks.partition(|check| items(check, "/exp_samples").is_empty());
    (!fires.is_empty(), !silent.is_empty())
}

/// Collects every `expr` of the dashboard, with the title of its panel.
fn shown(value: &Value, title: &str, found: &mut Vec<Expression>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| shown(value, title, found)),
        Value::Object(fields) => {
            let title = fields.get("title").and_then(Value::as_str).unwrap_or(title);
            for (key, value) in fields {
                match value.as_str() {
                    Some(text) if key == "expr" => found.push(Expression {
                        place: format!("{DASHBOARD}, {title}"),
                        // The value that Grafana inserts at a step of one minute.
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
    fn an_alert_is_told_of_when_tests_and_the_page_name_it() {
        let file = |tests: &[Value], page: &str| Files {
            alerts: vec![Alert {
                name: "One".to_owned(),
                expression: "up".to_owned(),
                runbook: "docs/operations.md#one".to_owned(),
            }],
            expressions: Vec::new(),
            tests: serde_json::json!({"tests": [{"promql_expr_test": tests}]}),
            page: format!("### Before\n{PART}\n{page}## After\n### Later\n"),
        };
        let check = |samples: Value| serde_json::json!({"expr": "ALERTS{alertname=\"One\", alertstate=\"firing\"}", "exp_samples": samples});
        let both = [check(serde_json::json!([{}])), check(serde_json::json!([]))];
        let (fires, silent) = both.split_at(1);
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
