//! Checks the text of one file.

use crate::source::Source;

/// The greatest length of a file: longer ones hide what is in them.
const LONGEST_FILE: usize = 400;
/// The greatest length of a handler, which extracts, makes one call and responds.
const LONGEST_HANDLER: usize = 30;
/// The crates that may run queries outside of `queries.rs` files: the kits that own the access to the database.
const RUN_QUERIES: [&str; 3] = ["crates/db-kit/", "crates/broker/", "crates/test-kit/"];
/// Words that only code with queries needs.
const QUERY_WORDS: [&str; 9] = [
    "RunQueryDsl",
    "QueryDsl",
    "insert_into(",
    "diesel::insert_or_ignore_into",
    "diesel::update(",
    "diesel::delete(",
    "diesel::select(",
    "sql_query(",
    "on_backend!(",
];

pub(super) fn check(file: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    complaints.extend(too_long(file));
    complaints.extend(query_outside(file));
    complaints.extend(long_handlers(file));
    let unfinished = "is unfinished work; open an issue instead";
    complaints.extend(words(file, &UNFINISHED, unfinished));
    complaints.extend(words(file, &MACHINE_PATHS, "is a path of one machine"));
    complaints.extend(values_out_of_order(file));
    complaints
}

fn is_rust(file: &Source) -> bool {
    file.path.ends_with(".rs")
}

fn is_test(file: &Source) -> bool {
    file.path.contains("/tests/") || file.path.ends_with("/tests.rs")
}

fn too_long(file: &Source) -> Option<String> {
    let lines = without_tests(&file.text).count();
    let exempt = !is_rust(file) || is_test(file) || file.path.ends_with("/schema.rs");
    (!exempt && lines > LONGEST_FILE)
        .then(|| format!("{}: {lines} lines, at most {LONGEST_FILE}", file.path))
}

/// Returns the numbered lines before the module of tests, if the file has one.
fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |(n, line): (usize, &&str)| {
        let item = lines
            .iter()
            .skip(n + 1)
            .find(|next| !next.starts_with("#["));
        *line == "#[cfg(test)]" && item.is_some_and(|item| item.ends_with('{'))
    };
    let end = lines
        .iter()
        .enumerate()
        .position(opens_tests)
        .unwrap_or(lines.len());
    numbered(text).take(end)
}

fn query_outside(file: &Source) -> Vec<String> {
    let service = file.path.starts_with("crates/")
        && is_rust(file)
        && !is_test(file)
        && !RUN_QUERIES.iter().any(|owner| file.path.starts_with(owner));
    if !service || file.path.ends_with("/queries.rs") || file.path.contains("/queries/") {
        return Vec::new();
    }
    let found = without_tests(&file.text);
    found
        .filter(|(_, line)| QUERY_WORDS.iter().any(|word| code_of(line).contains(word)))
        .map(|(n, _)| format!("{}:{n}: a query belongs in queries.rs", file.path))
        .collect()
}

/// Finds parameters out of order: SQLite numbers them as they first appear, whatever number follows the `$`.
fn values_out_of_order(file: &Source) -> Option<String> {
    let mut next: u32 = 1;
    let lines = file.text.lines().filter(|_| file.path.ends_with(".sql"));
    for line in lines {
        let code = line.split("--").next().unwrap_or_default();
        for after in code.split('$').skip(1) {
            let end = after.find(|c: char| !c.is_ascii_digit());
            let digits = after.get(..end.unwrap_or(after.len()));
            let number = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
            if number > next {
                return Some(format!("{}: ${number} comes before ${next}", file.path));
            }
            next += u32::from(number == next);
        }
    }
    None
}

/// Finds handlers that are too long: `async fn`s of a `routes.rs`, which rustfmt ends with a brace in their column.
fn long_handlers(file: &Source) -> Vec<String> {
    if !file.path.ends_with("/routes.rs") {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (n, line) in numbered(&file.text) {
        if let Some((start, name, end)) = &open {
            if line == end {
                let length = n - start + 1;
                if length > LONGEST_HANDLER {
                    complaints.push(format!(
                        "{}:{start}: handler {name} has {length} lines, at most {LONGEST_HANDLER}",
                        file.path
                    ));
                }
                open = None;
            }
        } else if let Some((before, after)) = line.split_once("async fn ") {
            let indent = before.len() - before.trim_start().len();
            let name = after.split(['(', '<']).next().unwrap_or_default();
            open = Some((n, name.to_owned(), format!("{}}}", " ".repeat(indent))));
        }
    }
    complaints
}

/// In halves, so that this file does not complain about itself.
const UNFINISHED: [[&str; 2]; 5] = [
    ["to", "do!("],
    ["unimple", "mented!("],
    ["FIX", "ME"],
    ["TO", "DO"],
    ["XX", "X:"],
];
const MACHINE_PATHS: [[&str; 2]; 4] = [
    ["/ho", "me/"],
    ["/Use", "rs/"],
    ["/ro", "ot/"],
    ["C:\\Use", "rs"],
];

fn words(file: &Source, halves: &[[&str; 2]], what: &str) -> Vec<String> {
    if file.path == "Cargo.lock" {
        return Vec::new();
    }
    let words: Vec<String> = halves.iter().map(|halves| halves.concat()).collect();
    let hits = numbered(&file.text).flat_map(|(n, line)| {
        let hits = words.iter().filter(move |word| line.contains(*word));
        hits.map(move |word| format!("{}:{n}: `{word}` {what}", file.path))
    });
    hits.collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line))
}

/// Returns the line without its comment.
fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(&Source {
            path: path.into(),
            text: text.into(),
        })
    }

    #[test]
    fn values_of_a_statement_first_appear_in_their_order() {
        let path = "crates/a/src/x.sql";
        let fits = "-- $2\nSELECT $1 ->> '$.a', $2, $1, $3";
        assert_eq!(complaints(path, fits), [""; 0]);
        let wrong = "UPDATE a SET b = $2 WHERE c = $1";
        assert_eq!(
            complaints(path, wrong),
            [format!("{path}: $2 comes before $1")]
        );
    }

    fn handler(lines: usize) -> String {
        format!(
            "pub async fn start(\n    body: Json,\n) -> Answer {{\n{}}}\n",
            "    go();\n".repeat(lines - 4)
        )
    }

    #[test]
    fn a_file_over_the_limit_is_found_and_schema_and_tests_are_not() {
        let long = "//!\n".repeat(LONGEST_FILE + 1);
        assert_eq!(complaints("crates/a/src/lib.rs", &long).len(), 1);
        assert!(complaints("crates/a/src/lib.rs", &"//!\n".repeat(LONGEST_FILE)).is_empty());
        assert!(
            complaints(
                "crates/a/src/lib.rs",
                &format!("#[cfg(test)]\nmod tests {{\n{long}")
            )
            .is_empty()
        );
        assert_eq!(
            complaints(
                "crates/a/src/lib.rs",
                &format!("#[cfg(test)]\nmod tests;\n{long}")
            )
            .len(),
            1
        );
        assert!(complaints("crates/a/src/schema.rs", &long).is_empty());
        assert!(complaints("crates/a/tests/it/main.rs", &long).is_empty());
    }

    #[test]
    fn a_query_outside_its_file_is_found() {
        let text = "fn f() {\n    diesel::update(users::table);\n}\n";
        let found = complaints("crates/identity-service/src/users/service.rs", text);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("service.rs:2:"));
        assert!(complaints("crates/identity-service/src/users/queries.rs", text).is_empty());
        assert!(complaints("crates/db-kit/src/outbox.rs", text).is_empty());
    }

    #[test]
    fn a_query_in_a_comment_or_a_test_is_not_a_query() {
        let text = "// diesel::update( is banned here\n#[cfg(test)]\nmod tests {\n    use diesel::RunQueryDsl;\n}\n";
        assert!(complaints("crates/notifier/src/service.rs", text).is_empty());
    }

    #[test]
    fn a_handler_over_the_limit_is_found() {
        let path = "crates/a/src/teams/routes.rs";
        assert!(complaints(path, &handler(LONGEST_HANDLER)).is_empty());
        let found = complaints(path, &handler(LONGEST_HANDLER + 1));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("handler start has 31 lines"));
    }

    #[test]
    fn unfinished_work_and_paths_of_a_machine_are_found() {
        for word in [
            ["to", "do!()"],
            ["FIX", "ME"],
            ["/ho", "me/mia/x"],
            ["/ro", "ot/x"],
        ] {
            assert_eq!(complaints("docs/a.md", &word.concat()).len(), 1, "{word:?}");
        }
        assert!(complaints("docs/a.md", "nothing of that kind").is_empty());
    }
}
