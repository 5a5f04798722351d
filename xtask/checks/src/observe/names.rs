//! The names of metrics: in expressions, and where the sources register them.

use super::files::Expression;
use crate::source::below;
use std::collections::BTreeSet;
use std::path::Path;
use xtask_kit::cmd::Result;

/// The code that precedes the name of a metric where it is registered.
const REGISTER: [&str; 10] = [
    "Opts::new(",
    "HistogramOpts::new(",
    "IntCounter::new(",
    "IntGauge::new(",
    "Counter::new(",
    "Gauge::new(",
    "counter(",
    "gauge(",
    "opts(",
    "outcomes(",
];

/// The metrics that the process collector registers by itself.
const OF_THE_PROCESS: [&str; 7] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_threads",
    "process_virtual_memory_bytes",
];

/// The metrics that Prometheus makes from what it scrapes.
const OF_PROMETHEUS: [&str; 2] = ["ALERTS", "up"];

/// Prefixes of metrics of third-party programs. Only a running one can tell whether they exist.
const OF_OTHERS: [&str; 2] = ["prometheus_", "rabbitmq_"];

/// Words that precede the names of labels.
const BEFORE_LABELS: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

/// Returns a complaint for each name in an expression that nothing registers.
pub(super) fn check(expressions: &[Expression], registered: &BTreeSet<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    for Expression { place, text } in expressions {
        let names = figures(text);
        if names.is_empty() {
            complaints.push(format!("{place} names no metric"));
        }
        let unknown = names.iter().filter(|name| !is_known(name, registered));
        complaints.extend(unknown.map(|name| format!("{place}: nothing registers {name}")));
    }
    complaints
}

fn is_known(name: &str, registered: &BTreeSet<String>) -> bool {
    let of_histogram = ["_bucket", "_sum", "_count"]
        .iter()
        .filter_map(|part| name.strip_suffix(part))
        .any(|base| registered.contains(base));
    of_histogram
        || registered.contains(name)
        || OF_THE_PROCESS.contains(&name)
        || OF_PROMETHEUS.contains(&name)
        || OF_OTHERS.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the names that the services' sources register.
pub(super) fn registered(root: &Path) -> Result<BTreeSet<String>> {
    let files = below(&root.join("crates"))?;
    let sources = files
        .iter()
        .filter(|file| file.path.contains("/src/") && file.path.ends_with(".rs"));
    Ok(sources.flat_map(|file| registered_in(&file.text)).collect())
}

fn registered_in(source: &str) -> impl Iterator<Item = String> {
    let starts = REGISTER.iter().flat_map(|call| source.split(*call).skip(1));
    starts.filter_map(|rest| {
        let (name, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
    })
}

/// Returns the metrics of an expression: words with an underscore that are neither functions nor labels.
pub(super) fn figures(expression: &str) -> BTreeSet<String> {
    let text = bare(expression);
    let mut found = BTreeSet::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_first) {
        let from = rest.get(start..).unwrap_or_default();
        let is_further = |c: char| is_first(c) || c.is_ascii_digit();
        let length = from.find(|c| !is_further(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(length);
        rest = after;
        let in_brackets = after.trim_start().strip_prefix('(');
        match in_brackets {
            Some(labels) if BEFORE_LABELS.contains(&word) => {
                rest = labels.split_once(')').map_or("", |(_, after)| after);
            }
            None if word.contains('_') || OF_PROMETHEUS.contains(&word) => {
                found.insert(word.to_owned());
            }
            _ => {}
        }
    }
    found
}

fn is_first(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == ':'
}

/// Returns the expression without the content of quotes, braces and brackets.
fn bare(expression: &str) -> String {
    let mut depth = 0;
    let unquoted = expression.split('"').step_by(2).flat_map(str::chars);
    let outside = unquoted.filter(|c| match c {
        '{' | '[' => {
            depth += 1;
            false
        }
        '}' | ']' => {
            depth -= 1;
            false
        }
        _ => depth == 0,
    });
    outside.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(expression: &str) -> Vec<String> {
        figures(expression).into_iter().collect()
    }

    #[test]
    fn only_figures_are_names() {
        for (expression, expected) in [
            ("up == 0", vec!["up"]),
            (
                "sum by (service, le) (rate(a_bucket{route=~\"/b[ab]}\", le=\"}\"}[5m])) > 1e3",
                vec!["a_bucket"],
            ),
            (
                "a_total offset 5m and on (a_label) max without(le) (b:c_sum) unless d_max > bool 3",
                vec!["a_total", "b:c_sum", "d_max"],
            ),
            (
                "label_replace(a_b, \"x\", \"up\", \"\", \"\") or absent(b_c == 1) / Inf",
                vec!["a_b", "b_c"],
            ),
            ("vector(1)", vec![]),
        ] {
            assert_eq!(named(expression), expected, "{expression}");
        }
    }

    #[test]
    fn a_name_that_nothing_registers_is_found() {
        let registered = BTreeSet::from(["a_seconds".to_owned()]);
        let complaints = |text: &str| {
            let place = "here".to_owned();
            let text = text.to_owned();
            check(&[Expression { place, text }], &registered)
        };
        for good in ["a_seconds_bucket", "a_seconds + process_open_fds", "up"] {
            assert!(complaints(good).is_empty(), "{good}");
        }
        assert_eq!(
            complaints("rate(b_total[5m]) / a_seconds"),
            ["here: nothing registers b_total"]
        );
        assert_eq!(complaints("vector(1)"), ["here names no metric"]);
    }

    #[test]
    fn names_are_found_where_they_are_registered() {
        let source = "Opts::new(\n    \"a_total\", \"A\")?; gauge(\"b\", \"B\"); word(\"c\"); Opts::new(name)";
        let found: BTreeSet<String> = registered_in(source).collect();
        assert_eq!(
            found,
            BTreeSet::from(["a_total".to_owned(), "b".to_owned()])
        );
    }
}
